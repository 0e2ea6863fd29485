import * as z from 'zod';
import { type Attempt, shownResult } from '../../domain/delivery/attempt.ts';
import { startOf, type Delivery } from '../../domain/delivery/delivery.ts';
import { attemptView, deliveryViewSchema, waitOf } from './delivery.ts';
import { timeText, timeView } from '../fields.ts';

/** A delivery in a listing: its status and its last attempt. */
export const deliverySummarySchema = z.object({
  queue: z.string(),
  messageId: z.string(),
  subscriptionId: z.string(),
  status: deliveryViewSchema.shape.status,
  reason: z.string().exactOptional(),
  acceptedAt: timeView,
  /** In all rounds. */
  attemptCount: z.int().min(0),
  lastAttempt: attemptView
    .pick({ number: true, startedAt: true, outcome: true, statusCode: true, error: true })
    .exactOptional(),
  nextAttemptAt: timeView.exactOptional(),
  waiting: deliveryViewSchema.shape.nextAttempt.unwrap().shape.waiting,
});

type DeliverySummary = z.infer<typeof deliverySummarySchema>;

export function deliverySummary(delivery: Delivery): DeliverySummary {
  const { key, status, reason, acceptedAt, attempts, next } = delivery;
  const last = attempts.at(-1);
  return {
    queue: key.queue,
    messageId: key.messageId,
    subscriptionId: key.subscriptionId,
    status,
    ...(reason === undefined ? {} : { reason }),
    acceptedAt: timeText(acceptedAt),
    attemptCount: attempts.length,
    ...(last === undefined ? {} : { lastAttempt: lastAttemptOf(last) }),
    ...(next === undefined ? {} : { nextAttemptAt: timeText(startOf(delivery, next)), ...waitOf(delivery) }),
  };
}

function lastAttemptOf({
  number,
  startedAt,
  outcome,
  result,
}: Attempt): NonNullable<DeliverySummary['lastAttempt']> {
  const { snippet: _, ...shown } = shownResult(result);
  return { number, startedAt: timeText(startedAt), outcome, ...shown };
}
