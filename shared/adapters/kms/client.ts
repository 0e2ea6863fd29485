import { KMSClient, type KMSClientConfig } from '@aws-sdk/client-kms';
import { clientOptions, slim, type ClientOptions } from '../aws/client-options.ts';

export function kmsClient({ deadline, journal, ...config }: ClientOptions<KMSClientConfig> = {}): KMSClient {
  return slim(new KMSClient({ ...clientOptions('kms', { deadline, journal }), ...config }));
}
