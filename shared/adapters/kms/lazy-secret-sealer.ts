import type { SecretSealer } from '../../ports/subscriptions.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import { once } from '../lambda/on-demand.ts';

/** For the API, which seals only when a subscription gets a secret or credentials. */
export function lazySecretSealer(aws: Invocation & AwsAccess, keyArn: string): SecretSealer {
  const sealer = once(async () => {
    const { kmsClient, kmsSecretSealer } = await import('./signing-secrets.ts');
    return kmsSecretSealer(kmsClient(aws), keyArn);
  });
  return {
    seal: async (owner, secret) => (await sealer()).seal(owner, secret),
    sealAuth: async (owner, auth) => (await sealer()).sealAuth(owner, auth),
  };
}
