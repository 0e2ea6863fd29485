import type { Phase } from '../../../../shared/domain/retry/vocabulary.ts';
import type { AttemptTrigger, Mechanism } from '../../../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';

type Next = { number: number; phase: Phase; dueAt: number; by?: AttemptTrigger | Mechanism };

/** The step after an attempt: the end of the delivery, or the next attempt. Times in ms since the epoch. */
export type NextStep =
  | { kind: 'delivered' | 'rejected' | 'exhausted' | 'cancelled' }
  | { kind: 'next'; next: Next; endedAt: number };

/** The recorded next step; undefined if the record lacks the attempt. */
export function nextStep(view: DeliveryView, number: number): NextStep | undefined {
  const attempt = view.attempts.find((one) => one.number === number);
  if (attempt === undefined) return undefined;
  const endedAt = Date.parse(attempt.startedAt) + attempt.durationMs;
  const next = recordedNext(view, number + 1) ?? pendingNext(view, number + 1);
  if (next !== undefined) return { kind: 'next', next, endedAt };
  if (attempt.outcome !== 'failed') return { kind: attempt.outcome };
  return view.status === 'cancelled' ? { kind: 'cancelled' } : { kind: 'exhausted' };
}

function recordedNext({ attempts }: DeliveryView, number: number): Next | undefined {
  const made = attempts.find((one) => one.number === number);
  if (made === undefined) return undefined;
  const { phase, by, dueAt, startedAt } = made;
  return { number, phase, dueAt: Date.parse(dueAt ?? startedAt), ...(by === undefined ? {} : { by }) };
}

function pendingNext({ nextAttempt }: DeliveryView, number: number): Next | undefined {
  return nextAttempt?.number === number
    ? { ...nextAttempt, dueAt: Date.parse(nextAttempt.dueAt) }
    : undefined;
}
