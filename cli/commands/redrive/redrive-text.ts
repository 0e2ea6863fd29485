import type { RedriveEnd, RedriveResult, RedriveTally } from './redrive-dead-letters.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
import { printable } from '../../output/printable.ts';

/** The exit status of the run. */
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

/** The result as JSON. `settled` exists only for undeliverable notices. */
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
  crowded:
    'Stopped: so many messages stay in the queue that SQS returns no further ones. Remove some, then repeat. ',
};

const SUBJECTS: Record<RedrivenQueue, string> = {
  ingress: 'Dead letters of the ingress queue',
  delivery: 'Dead letters of the delivery queue',
  operation: 'Dead letters of the operation queue',
  undeliverable: 'Notices of undeliverable deliveries',
};

/** The result as a sentence. The number left is exact only if the queue was emptied. */
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
  return `${BEFORE[end]}${SUBJECTS[queue]} in ${deployment}: ${counts.join(', ')}.`;
}

function reasonsOf(reasons: RedriveTally['skipped']): string {
  const texts = Object.entries(reasons).map(([reason, count]) => `${printable(reason)} ${count}`);
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}
