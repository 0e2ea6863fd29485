import type { AccessTokens } from '../../../shared/ports/subscriber.ts';

type Asked = Parameters<AccessTokens['tokenFor']>[2] & { subscriptionId: string };

export type InMemoryAccessTokens = AccessTokens & {
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
