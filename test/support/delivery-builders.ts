import { randomUUID } from 'node:crypto';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';

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
  statusCode: 503,
  ...overrides,
});

export const aDelivery = (overrides: Partial<Delivery> = {}): Delivery => ({
  key: aDeliveryKey(),
  acceptedAt: SOME_TIME,
  status: 'pending',
  round: 1,
  attempts: [],
  lateResults: [],
  lost: 0,
  owed: [],
  recoveries: [],
  updatedAt: SOME_TIME,
  expiresAt: SOME_TIME + 30 * 24 * 60 * 60 * 1000,
  ...overrides,
});
