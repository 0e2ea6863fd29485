import { randomUUID } from 'node:crypto';
import type { Answered, Attempt } from '../../shared/domain/delivery/attempt.ts';
import type {
  Delivery,
  DeliveryKey,
  NextAttempt,
  PendingStep,
  Recorded,
} from '../../shared/domain/delivery/delivery.ts';
import { isOpenStatus, type Status } from '../../shared/domain/delivery/vocabulary.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';

export const SOME_TIME = Date.UTC(2027, 0, 15, 8);

/** The key of a message that no other test uses. */
export const aDeliveryKey = (overrides: Partial<DeliveryKey> = {}): DeliveryKey => ({
  queue: 'orders.eu-1',
  messageId: randomUUID(),
  subscriptionId: randomUUID(),
  bucket: 0,
  ...overrides,
});

export const anAttempt = (overrides: Partial<Attempt> = {}): Attempt => ({
  number: 1,
  round: 1,
  phase: 'initial',
  startedAt: SOME_TIME,
  durationMs: 120,
  outcome: 'failed',
  result: answered(503),
  ...overrides,
});

export const answered = (statusCode: number, snippet?: string): Answered => ({
  kind: 'answered',
  statusCode,
  ...(snippet === undefined ? {} : { snippet }),
});

/** Fields of a delivery that a test cares about. */
export type DeliveryFields = Partial<Recorded> & {
  status?: Status;
  reason?: string | undefined;
  next?: NextAttempt | undefined;
  slot?: Slot | undefined;
  pendingSteps?: readonly PendingStep[];
};

const END_REASONS: Partial<Record<Status, string>> = {
  rejected: 'http_404',
  exhausted: 'retries_exhausted',
  cancelled: 'manual',
};

/** Completed by what its status requires, and without what it excludes. */
export function aDelivery(fields?: DeliveryFields): Delivery;
export function aDelivery(fields: DeliveryFields = {}): object {
  const { status = 'pending', reason, next, slot, pendingSteps = [], ...recorded } = fields;
  const delivery = {
    key: aDeliveryKey(),
    acceptedAt: SOME_TIME,
    status,
    round: 1,
    attempts: [],
    lateResults: [],
    lost: 0,
    recoveries: [],
    updatedAt: SOME_TIME,
    expiresAt: SOME_TIME + 30 * 24 * 60 * 60 * 1000,
    ...recorded,
  };
  if (!isOpenStatus(status)) return { ...delivery, reason: reason ?? END_REASONS[status], pendingSteps };
  const number = delivery.attempts.length + 1;
  const retry = { number, phase: 'pre_backoff', dueAt: SOME_TIME, by: 'sqs_delay' };
  return { ...delivery, next: next ?? (status === 'retrying' ? retry : undefined), slot, pendingSteps: [] };
}
