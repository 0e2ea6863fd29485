import type { Payloads } from '../../ports/bodies.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import { once } from '../lambda/on-demand.ts';

export function lazyPayloads(aws: Invocation & AwsAccess, bucket: string): Payloads {
  const payloads = once(async () => {
    const { s3Client, s3Payloads } = await import('./payloads.ts');
    return s3Payloads(s3Client(aws), bucket);
  });
  return {
    put: async (payloadKey, message) => (await payloads()).put(payloadKey, message),
    get: async (payloadKey) => (await payloads()).get(payloadKey),
    remove: async (payloadKey) => (await payloads()).remove(payloadKey),
    removeAll: async (message) => (await payloads()).removeAll(message),
  };
}
