import type { Delivery, WriteTime } from '../domain/delivery/delivery.ts';
import {
  attemptOf,
  recordReceived,
  type PullResult,
  type ReceivedDelivery,
} from '../domain/delivery/pull.ts';
import type { RetryPolicy } from '../domain/retry/policy.ts';
import type { Deliveries } from '../ports/deliveries.ts';
import type { Journal } from '../ports/journal.ts';

/** Records the attempt of a received delivery. Undefined: the delivery changed in the meantime. */
export async function recordResult(
  { deliveries, journal }: { deliveries: Pick<Deliveries, 'write'>; journal: Journal },
  received: ReceivedDelivery,
  { result, policy }: { result: PullResult; policy: RetryPolicy },
  at: WriteTime,
): Promise<Delivery | undefined> {
  const attempt = attemptOf(received, result, at.now);
  const written = await deliveries.write(recordReceived(received, { result, attempt, policy }, at));
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
