import type { RedriveEnd, RedriveResult, RedriveTally } from './redrive-letters.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
import { printable } from '../../output/printable.ts';

/** The exit status. */
export function statusOf({ end }: RedriveResult): number {
  return STATUS[end];
}

const STATUS: Record<RedriveEnd, number> = {
  emptied: 0,
  limit_reached: 0,
  interrupted: INTERRUPTED,
  crowded: 1,
};

function countIn(reasons: RedriveTally['skipped'] = {}): number {
  return Object.values(reasons).reduce((sum, count) => sum + count, 0);
}

/** Only an undeliverable notice can be settled. */
export function asJson(queue: RedrivenQueue, { redriven, settled, skipped, left }: RedriveResult): string {
  return JSON.stringify({
    queue,
    redriven,
    ...(queue === 'undeliverable' && { settled: countIn(settled) }),
    skipped: countIn(skipped),
    left,
  });
}

export function countsOf({ redriven, skipped, left }: RedriveTally): string {
  return `${redriven} redriven, ${countIn(skipped)} skipped, ${left} left`;
}

const BEFORE: Record<RedriveEnd, string> = {
  emptied: '',
  limit_reached: '',
  interrupted: 'Interrupted. ',
  crowded: 'Stopped, because so many messages are left that SQS would not show those behind them. ',
};

const SUBJECTS: Record<RedrivenQueue, string> = {
  ingress: 'Dead letters of the ingress queue',
  delivery: 'Dead letters of the delivery queue',
  operation: 'Dead letters of the operation queue',
  undeliverable: 'Undeliverable deliveries',
};

/** Only of a queue that was emptied is it known how many are left. */
export function sentenceOf(
  queue: RedrivenQueue,
  deployment: string,
  { end, redriven, settled, skipped, left }: RedriveResult,
): string {
  const counts = [
    `${redriven} redriven`,
    ...(settled === undefined ? [] : [`${countIn(settled)} settled${reasonsOf(settled)}`]),
    `${countIn(skipped)} skipped${reasonsOf(skipped)}`,
    `${end === 'emptied' ? '' : 'about '}${left} left`,
  ];
  return `${BEFORE[end]}${SUBJECTS[queue]}, ${deployment}: ${counts.join(', ')}.`;
}

function reasonsOf(reasons: RedriveTally['skipped']): string {
  const texts = Object.entries(reasons).map(([reason, count]) => `${printable(reason)} ${count}`);
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}
