/** One of a subscription's secrets as it is kept: only whoever may open it learns it. */
export type SealedSecret = {
  sealed: string;
  /** Of one that was replaced: from this moment on nothing is signed with it. Milliseconds since the epoch. */
  expiresAt?: number;
};

/** All that are in force at a time; a request carries a signature for each. */
export const MOST_SECRETS = 5;

/** In seconds, as a user gives it. */
export const DEFAULT_GRACE_SECONDS = 24 * 60 * 60;
export const LONGEST_GRACE_SECONDS = 7 * 24 * 60 * 60;

/** Those to sign with at a moment: the current one first, then the replaced ones until the end of their grace. */
export function secretsInForce<Secret extends Pick<SealedSecret, 'expiresAt'>>(
  secrets: readonly Secret[],
  now: number,
): readonly Secret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === undefined || now < expiresAt);
}

export type Rotation =
  | {
      kind: 'rotated';
      secrets: readonly SealedSecret[];
      /** When the last of the replaced ones ends; undefined where there was none. */
      previousExpiresAt?: number;
    }
  /** As many are in force as may be; the earliest of them ends then. */
  | { kind: 'too_many'; until: number };

/**
 * Puts a new secret in front. No other outlives the grace that is given with it, so that a grace of 0 makes an end of
 * all of them.
 */
export function rotateSecrets(
  secrets: readonly SealedSecret[],
  sealed: string,
  { now, graceMs }: { now: number; graceMs: number },
): Rotation {
  const ending = secretsInForce(secrets, now).map(
    ({ sealed: replaced, expiresAt = Number.POSITIVE_INFINITY }) => ({
      sealed: replaced,
      expiresAt: Math.min(expiresAt, now + graceMs),
    }),
  );
  const ends = ending.map(({ expiresAt }) => expiresAt);
  const replaced = secretsInForce(ending, now);
  if (replaced.length >= MOST_SECRETS) return { kind: 'too_many', until: Math.min(...ends) };
  return {
    kind: 'rotated',
    secrets: [{ sealed }, ...replaced],
    ...(ends.length === 0 ? {} : { previousExpiresAt: Math.max(...ends) }),
  };
}
