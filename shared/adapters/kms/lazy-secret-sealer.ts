import type { SecretSealer } from '../../ports/subscriptions.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';

/**
 * Seals with KMS, loaded by the first subscription that gets a secret or credentials: other requests do not need it. Apart
 * from on-demand.ts, because the other functions seal nothing.
 */
export function lazySecretSealer(aws: Invocation & AwsAccess, keyArn: string): SecretSealer {
  const load = async (): Promise<SecretSealer> => {
    const { kmsClient, kmsSecretSealer } = await import('./signing-secrets.ts');
    return kmsSecretSealer(kmsClient(aws), keyArn);
  };
  let sealer: Promise<SecretSealer> | undefined;
  const loaded = (): Promise<SecretSealer> => (sealer ??= load());
  return {
    seal: async (owner, secret) => (await loaded()).seal(owner, secret),
    sealAuth: async (owner, auth) => (await loaded()).sealAuth(owner, auth),
  };
}
