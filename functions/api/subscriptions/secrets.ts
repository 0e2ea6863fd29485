import { rotateSecrets } from '../../../shared/domain/subscription/secret-rotation.ts';
import {
  makeSecret,
  type SigningScheme,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { isThere, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { SecretSealer, SubscriptionRegistry } from '../../../shared/ports/subscriptions.ts';

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
export async function rotateSecret(context: RotateContext, request: RotateRequest): Promise<RotateResult> {
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
}

/** Every sealing is another text, so it tells whether anything was rotated since. */
function currentOf({ secrets }: Subscription): string | undefined {
  return secrets?.[0]?.sealed;
}

function endOf({ previousExpiresAt }: { previousExpiresAt?: number }) {
  return previousExpiresAt === undefined ? {} : { previousExpiresAt };
}

function resultOf(
  changed: Awaited<ReturnType<SubscriptionRegistry['changeSubscription']>>,
  rotated: { secret: SigningSecret; previousExpiresAt?: number },
): RotateResult {
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
}
