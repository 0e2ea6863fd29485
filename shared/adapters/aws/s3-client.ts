import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { bounded, type ClientOptions } from './sdk-client.ts';

export function s3Client({ deadline, journal, ...config }: ClientOptions<S3ClientConfig> = {}): S3Client {
  return new S3Client({ ...bounded('s3', { deadline, journal }), ...config });
}
