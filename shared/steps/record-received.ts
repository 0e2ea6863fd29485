import type { Attempt } from '../domain/delivery/attempt.ts';
import type { Delivery, Revision, WriteTime } from '../domain/delivery/delivery.ts';
import {
  buildAttempt,
  recordReceived,
  recordUnrendered,
  type PullResult,
  type ReceivedDelivery,
} from '../domain/delivery/pull.ts';
import type { RenderFault } from '../domain/message/payload.ts';
import type { RetryPolicy } from '../domain/retry/policy.ts';
import type { Deliveries } from '../ports/deliveries.ts';
import type { Journal } from '../ports/journal.ts';

type Context = { deliveries: Pick<Deliveries, 'write'>; journal: Journal };

/** Records the attempt of a received delivery. Undefined: the delivery changed in the meantime. */
export async function recordResult(
  context: Context,
  received: ReceivedDelivery,
  { result, policy }: { result: PullResult; policy: RetryPolicy },
  at: WriteTime,
): Promise<Delivery | undefined> {
  const attempt = buildAttempt(received, result, at.now);
  return recordAttempt(context, received, attempt, recordReceived(received, { attempt, policy }, at));
}

/** Records that the payload of a received delivery could not be rendered, which ends it. reconcile wakes its pending steps. */
export async function recordRenderFault(
  context: Context,
  received: ReceivedDelivery,
  fault: RenderFault,
  at: WriteTime,
): Promise<void> {
  const attempt = buildAttempt(received, fault, at.now);
  await recordAttempt(context, received, attempt, recordUnrendered(received, { attempt, fault }, at));
}

async function recordAttempt(
  { deliveries, journal }: Context,
  received: ReceivedDelivery,
  attempt: Attempt,
  revision: Revision,
): Promise<Delivery | undefined> {
  const written = await deliveries.write(revision);
  if (written.kind === 'refused') return undefined;
  const { key, status, acceptedAt, next } = written.delivery;
  journal.note({
    fact: 'attempt_made',
    key,
    attempt,
    status,
    acceptedAt,
    dueAt: received.next?.dueAt ?? attempt.startedAt,
    ...(next === undefined ? {} : { nextAt: next.dueAt, nextBy: next.by }),
  });
  return written.delivery;
}
