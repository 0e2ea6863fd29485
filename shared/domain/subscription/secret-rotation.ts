import * as z from 'zod';

/** A stored secret of a subscription, sealed: only functions with the KMS permission can open it. */
export const sealedSecretSchema = z.object({
  sealed: z.string(),
  /** `whpk_…` of a v1a secret, in clear; absent on those of earlier versions. */
  publicKey: z.string().exactOptional(),
  /** Of a replaced secret: no longer used for signing from then on. Milliseconds since the epoch. */
  expiresAt: z.number().exactOptional(),
});

export type SealedSecret = z.infer<typeof sealedSecretSchema>;

/** Most secrets in force at a time; each request carries a signature for each. */
export const MAX_SECRETS = 5;

/** Seconds. */
export const DEFAULT_GRACE_SECONDS = 24 * 60 * 60;
export const MAX_GRACE_SECONDS = 7 * 24 * 60 * 60;

/** The secrets to sign with at `now`: the current one first, then replaced ones in their grace period. */
export function secretsInForce<Secret extends Pick<SealedSecret, 'expiresAt'>>(
  secrets: readonly Secret[],
  now: number,
): readonly Secret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === undefined || now < expiresAt);
}

/** A secret or its stored form, which ends at some time once it is replaced. */
type Ending = { expiresAt?: number };

export type Rotation<Secret extends Ending = SealedSecret> =
  | {
      kind: 'rotated';
      secrets: readonly Secret[];
      /** End of the last grace period; undefined if no secret was replaced. */
      previousExpiresAt?: number;
    }
  /** The maximum number is in force; `until`: when the first of them expires. */
  | { kind: 'too_many'; until: number };

/**
 * Makes `current` the current secret. No older one outlives the given grace period, so a grace of 0 ends them all.
 */
export function rotateSecrets<Secret extends Ending>(
  secrets: readonly Secret[],
  current: Secret,
  { now, graceMs }: { now: number; graceMs: number },
): Rotation<Secret> {
  const ending = secretsInForce(secrets, now).map((replaced) => ({
    ...replaced,
    expiresAt: Math.min(replaced.expiresAt ?? Number.POSITIVE_INFINITY, now + graceMs),
  }));
  const ends = ending.map(({ expiresAt }) => expiresAt);
  const replaced = secretsInForce(ending, now);
  if (replaced.length >= MAX_SECRETS) return { kind: 'too_many', until: Math.min(...ends) };
  return {
    kind: 'rotated',
    secrets: [current, ...replaced],
    ...(ends.length === 0 ? {} : { previousExpiresAt: Math.max(...ends) }),
  };
}
