import { parseSecret, secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  type SecretOpener,
  type SecretOwner,
  type SecretSealer,
  UnopenedSecretError,
} from '../../../shared/ports/subscriptions.ts';

export type InMemorySecrets = SecretSealer &
  SecretOpener & {
    /** While it is set, opening fails. */
    outage: Error | undefined;
  };

/** Secrets in a Map, under names that reveal nothing about them. */
export const inMemorySecrets = (): InMemorySecrets => {
  const kept = new Map<string, { owner: string; text: string }>();

  const openNow = (owner: SecretOwner, sealed: string): string => {
    if (secrets.outage !== undefined) throw new UnopenedSecretError(owner, { cause: secrets.outage });
    const found = kept.get(sealed);
    if (found?.owner !== nameOf(owner)) {
      throw new UnopenedSecretError(owner, { cause: new Error('There is no such secret of this owner.') });
    }
    return found.text;
  };

  const secrets: InMemorySecrets = {
    outage: undefined,
    seal: (owner, secret) => secrets.sealText(owner, secretText(secret)),
    sealText: (owner, text) => {
      const sealed = `sealed-${kept.size + 1}`;
      kept.set(sealed, { owner: nameOf(owner), text });
      return Promise.resolve(sealed);
    },
    open: async (owner, sealed) => {
      const secret = parseSecret(await secrets.openText(owner, sealed));
      if (secret === undefined)
        throw new UnopenedSecretError(owner, { cause: new Error('Not a signing secret.') });
      return secret;
    },
    openText: async (owner, sealed) => {
      await Promise.resolve();
      return openNow(owner, sealed);
    },
  };
  return secrets;
};

const nameOf = ({ queue, subscriptionId }: SecretOwner): string => `${queue}/${subscriptionId}`;
