import { parseAuth } from '../../../shared/domain/subscription/auth.ts';
import { parseSecret, secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import type { SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import type { AccessTokens } from '../../../shared/ports/subscriber.ts';
import {
  type SecretOpener,
  type SecretSealer,
  UnopenedSecretError,
} from '../../../shared/ports/subscriptions.ts';

type InMemorySecrets = SecretSealer &
  SecretOpener & {
    /** While it is set, opening fails. */
    outage: Error | undefined;
  };

/** Secrets in a Map, under names that reveal nothing about them. */
export const inMemorySecrets = (): InMemorySecrets => {
  const kept = new Map<string, { owner: string; text: string }>();

  const seal = (owner: SubscriptionKey, text: string): Promise<string> => {
    const sealed = `sealed-${kept.size + 1}`;
    kept.set(sealed, { owner: nameOf(owner), text });
    return Promise.resolve(sealed);
  };

  const open = async <Opened>(
    owner: SubscriptionKey,
    sealed: string,
    parse: (text: string) => Opened | undefined,
  ): Promise<Opened> => {
    await Promise.resolve();
    if (secrets.outage !== undefined) throw new UnopenedSecretError(owner, { cause: secrets.outage });
    const found = kept.get(sealed);
    if (found?.owner !== nameOf(owner)) {
      throw new UnopenedSecretError(owner, { cause: new Error('There is no such secret of this owner.') });
    }
    const opened = parse(found.text);
    if (opened === undefined)
      throw new UnopenedSecretError(owner, { cause: new Error('The text has another form.') });
    return opened;
  };

  const secrets: InMemorySecrets = {
    outage: undefined,
    seal: (owner, secret) => seal(owner, secretText(secret)),
    sealAuth: (owner, auth) => seal(owner, JSON.stringify(auth)),
    open: async (owner, sealed) => open(owner, sealed, parseSecret),
    openAuth: async (owner, sealed) => open(owner, sealed, parseAuth),
  };
  return secrets;
};

const nameOf = ({ queue, subscriptionId }: SubscriptionKey): string => `${queue}/${subscriptionId}`;

type Asked = Parameters<AccessTokens['tokenFor']>[2] & { subscriptionId: string };

type InMemoryAccessTokens = AccessTokens & {
  /** All calls. */
  asked: readonly Asked[];
  /** Set to let every call fail with this detail. */
  outage: string | undefined;
  /** Milliseconds that a call takes. */
  delayMs: number;
  /** Whether a refused token is replaced. */
  renews: boolean;
};

/** Issues `token-1`, and the next one for each that was refused. */
export const inMemoryAccessTokens = (clock: {
  sleep: (milliseconds: number) => Promise<void>;
}): InMemoryAccessTokens => {
  const asked: Asked[] = [];
  let issued = 1;
  const tokens: InMemoryAccessTokens = {
    asked,
    outage: undefined,
    delayMs: 0,
    renews: true,
    tokenFor: async ({ subscriptionId }, _auth, options) => {
      asked.push({ subscriptionId, ...options });
      await clock.sleep(tokens.delayMs);
      if (tokens.outage !== undefined) return { kind: 'failed', detail: tokens.outage };
      if (options.refused === `token-${issued}` && tokens.renews) issued += 1;
      return { kind: 'token', token: `token-${issued}` };
    },
  };
  return tokens;
};
