import { styleText } from 'node:util';
import type { AttemptTrigger, Mechanism } from '../../../../shared/domain/delivery/vocabulary.ts';
import { type DeliveryView, STARTED_BY } from '../../../../shared/wire/views/delivery.ts';
import type { NextStep } from './next-step.ts';

type AttemptView = DeliveryView['attempts'][number];

export type FeedLine = {
  message: string;
  subscriber: string;
  attempt: AttemptView;
  step: NextStep;
};

const COLOURS = { delivered: 'green', failed: 'yellow', rejected: 'red' } as const;

/**
 * An attempt in at most 100 columns: time, message, subscriber, number, result, and the next step with its mechanism.
 */
export function feedLine({ message, subscriber, attempt, step }: FeedLine): string {
  return [
    clockTime(attempt.startedAt),
    message.padEnd(2),
    subscriber.padEnd(9),
    `#${attempt.number} ${attempt.phase}`.padEnd(15),
    styleText(COLOURS[attempt.outcome], resultOf(attempt).padEnd(11)),
    stepText(step),
  ].join('  ');
}

/** A time of day in the local zone, with milliseconds. */
export function clockTime(time: string): string {
  const at = new Date(time);
  const part = (value: number, digits = 2): string => String(value).padStart(digits, '0');
  return `${part(at.getHours())}:${part(at.getMinutes())}:${part(at.getSeconds())}.${part(at.getMilliseconds(), 3)}`;
}

function resultOf({ statusCode, error, durationMs }: AttemptView): string {
  return `${statusCode ?? error ?? 'no response'}, ${durationMs} ms`;
}

function stepText(step: NextStep): string {
  switch (step.kind) {
    case 'delivered':
      return styleText('green', '✓ delivered');
    case 'rejected':
      return styleText('red', '✗ rejected, not retried');
    case 'exhausted':
      return styleText('red', '✗ exhausted, no retries left');
    case 'cancelled':
      return styleText('red', '✗ cancelled');
    case 'next':
      return `→ #${step.next.number} ${step.next.phase} ${delayText(step)}${mechanismText(step.next.by)}`;
  }
}

function mechanismText(by: AttemptTrigger | Mechanism | undefined): string {
  return by === undefined ? '' : `, ${STARTED_BY[by]}`;
}

function delayText({ next, endedAt }: Extract<NextStep, { kind: 'next' }>): string {
  const seconds = (next.dueAt - endedAt) / 1000;
  return seconds <= 0 ? 'at once' : `in ${seconds.toFixed(1)} s`;
}
