import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

export function s3Client({ deadline, journal, ...config }: ClientOptions<S3ClientConfig> = {}): S3Client {
  return new S3Client({ ...clientOptions('s3', { deadline, journal }), ...config });
}
