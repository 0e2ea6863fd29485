import { expect, it } from 'vitest';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type {
  DeliveryChange,
  EndedDelivery,
  OpenDelivery,
  Recorded,
} from '../../../shared/domain/delivery/delivery.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';

const { status: _status, next: _next, slot: _slot, ...recorded } = aDelivery();
const common: Recorded & { pendingSteps: [] } = { ...recorded, pendingSteps: [] };
const next = { number: 1, phase: 'initial', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
const at = { updatedAt: SOME_TIME };
const made = anAttempt();

/** Each line compiles only because of its comment: the type check fails where a contradiction becomes possible. */
it('contradictory deliveries, changes and results do not compile', () => {
  // @ts-expect-error A delivered one has no next attempt.
  const delivered: EndedDelivery = { ...common, status: 'delivered', next };
  // @ts-expect-error A delivered one has no reason.
  const reasoned: EndedDelivery = { ...common, status: 'delivered', reason: 'gone' };
  // @ts-expect-error A rejected one has the reason of a rejection.
  const rejected: EndedDelivery = { ...common, status: 'rejected', reason: 'retries_exhausted' };
  const cancelled = { ...common, status: 'cancelled', reason: 'manual' } as const;
  // @ts-expect-error An ended one waits for no slot.
  const waiting: EndedDelivery = { ...cancelled, slot: { at: SOME_TIME } };
  // @ts-expect-error A retrying one has a next attempt.
  const retrying: OpenDelivery = { ...common, status: 'retrying' };
  // @ts-expect-error An open one has no pending steps.
  const open: OpenDelivery = { ...common, status: 'pending', pendingSteps: [{ kind: 'undeliverable' }] };

  // @ts-expect-error The reason of an exhausted one is that its retries are.
  const exhausts: DeliveryChange = { ...at, status: 'exhausted', reason: 'manual' };
  // @ts-expect-error A change to retrying plans the retry.
  const retries: DeliveryChange = { ...at, status: 'retrying' };
  // @ts-expect-error A next attempt needs an open status.
  const unmoved: DeliveryChange = { ...at, next };
  // @ts-expect-error A change that ends a delivery plans nothing.
  const ends: DeliveryChange = { ...at, status: 'delivered', next };

  // @ts-expect-error An answer has a status.
  const answer: Attempt = { ...made, result: { kind: 'answered' } };
  // @ts-expect-error A fault is one of the closed list.
  const fault: Attempt = { ...made, result: { kind: 'unanswered', error: 'it failed' } };
  // @ts-expect-error What was forbidden has no answer.
  const forbidden: Attempt = { ...made, result: { kind: 'forbidden', statusCode: 200 } };

  const all = [delivered, reasoned, rejected, waiting, retrying, open];
  expect([...all, exhausts, retries, unmoved, ends, answer, fault, forbidden]).toHaveLength(13);
});
