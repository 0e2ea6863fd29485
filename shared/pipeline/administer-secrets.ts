import { rotateSecrets } from '../domain/secret-rotation.ts';
import { makeSecret, type SigningScheme, type SigningSecret } from '../domain/signing-secret.ts';
import { isThere, type Subscription } from '../domain/subscription.ts';
import type { Clock } from '../ports/clock.ts';
import type { SecretSealer } from '../ports/signing-secrets.ts';
import type { SubscriptionRegistry } from '../ports/subscription-registry.ts';

/** What rotating a secret needs of the world. */
export type RotateContext = {
  registry: Pick<SubscriptionRegistry, 'findSubscription' | 'changeSubscription'>;
  clock: Pick<Clock, 'now'>;
  secretSealer: SecretSealer;
  /** As many bytes as asked for, which nobody can guess. */
  randomBytes: (bytes: number) => Uint8Array;
};

export type RotateRequest = {
  queue: string;
  subscriptionId: string;
  /** The secret to be taken, or the kind of secret to be made. */
  secret: SigningSecret | SigningScheme;
  graceMs: number;
};

export type RotateResult =
  | { kind: 'rotated'; secret: SigningSecret; previousExpiresAt?: number }
  | { kind: 'no_such_subscription' }
  /** Somebody else's secret came first. Theirs was shown to them, so it is not replaced behind their back. */
  | { kind: 'rotated_meanwhile' }
  | { kind: 'too_many'; until: number };

/** Gives a subscription a new secret; the one before is in force until the end of its grace. */
export const rotateSecret = async (context: RotateContext, request: RotateRequest): Promise<RotateResult> => {
  const { registry, clock, secretSealer, randomBytes } = context;
  const { queue, subscriptionId, graceMs } = request;
  const found = await registry.findSubscription(queue, subscriptionId);
  if (!isThere(found, clock.now())) return { kind: 'no_such_subscription' };
  const secret =
    typeof request.secret === 'string' ? makeSecret(request.secret, randomBytes) : request.secret;
  const sealed = await secretSealer.seal({ queue, subscriptionId }, secret);
  const now = clock.now();
  const rotation = rotateSecrets(found.secrets ?? [], sealed, { now, graceMs });
  if (rotation.kind === 'too_many') return rotation;
  const changed = await registry.changeSubscription({ queue, subscriptionId, now }, (current) =>
    currentOf(current) === currentOf(found) ? { ...current, secrets: rotation.secrets } : undefined,
  );
  return resultOf(changed, { secret, ...endOf(rotation) });
};

/** Every sealing is another text, so it tells whether anything was rotated since. */
const currentOf = ({ secrets }: Subscription): string | undefined => secrets?.[0]?.sealed;

const endOf = ({ previousExpiresAt }: { previousExpiresAt?: number }) =>
  previousExpiresAt === undefined ? {} : { previousExpiresAt };

const resultOf = (
  changed: Awaited<ReturnType<SubscriptionRegistry['changeSubscription']>>,
  rotated: { secret: SigningSecret; previousExpiresAt?: number },
): RotateResult => {
  switch (changed.kind) {
    case 'changed':
      return { kind: 'rotated', ...rotated };
    case 'missing':
      return { kind: 'no_such_subscription' };
    // A conflict is about the subscriber, which this change leaves alone.
    case 'conflict':
    case 'left':
      return { kind: 'rotated_meanwhile' };
  }
};
