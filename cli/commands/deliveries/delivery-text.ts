import { type DeliveryView, type Waiting, WAITS } from '../../../shared/wire/views/delivery.ts';
import type { DeliveryDetail } from '../../../api-client/operations.ts';
import { clockTime } from '../../output/time-text.ts';
import { colouredStatus } from '../../output/status-colour.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { fieldLines, tableLines, type Column } from '../../output/table.ts';

type Shown = DeliveryView & Partial<Pick<DeliveryDetail, 'planned'>>;
type Attempt = Shown['attempts'][number];

/** A delivery as text: its fields, its attempts and its planned retries. `subscriber`: name or URL. */
export function describeDelivery(
  delivery: Shown,
  terminal: Pick<Terminal, 'styled'>,
  subscriber?: string,
): string {
  const { queue, messageId, subscriptionId, attempts, nextAttempt, planned = [] } = delivery;
  return [
    ...fieldLines([
      ['Message', printable(messageId)],
      ['Queue', printable(queue)],
      ['Subscription', printable(subscriptionId)],
      ['Subscriber', subscriber && printable(subscriber)],
      ['Status', colouredStatus(statusText(delivery), terminal)],
      ['Next attempt', nextAttempt && attemptText(nextAttempt)],
    ]),
    ...(attempts.length === 0 ? [] : ['', ...tableLines(ATTEMPTS, attempts.map(attemptRow))]),
    ...(planned.length === 0 ? [] : ['', plannedHead(nextAttempt?.waiting), ...plannedLines(planned)]),
  ].join('\n');
}

function attemptText({ number, phase, dueAt, waiting }: NonNullable<Shown['nextAttempt']>): string {
  return `#${number} ${phase}, ${whenText(dueAt, waiting)}`;
}

/** When the next attempt starts. A delivery that waits asks again then, and may have to wait longer. */
export function whenText(dueAt: string | undefined, waiting: Waiting | undefined): string {
  return waiting === undefined ? clockTime(dueAt) : `not before ${clockTime(dueAt)}, waits ${WAITS[waiting]}`;
}

/** The same within a sentence that says why it waits. */
export function nextText(dueAt: string, waiting: Waiting | undefined): string {
  return `${waiting === undefined ? 'next' : 'not before'} ${clockTime(dueAt)}`;
}

export function statusText({ status, reason }: { status: string; reason?: string | undefined }): string {
  return reason === undefined ? status : `${status} (${printable(reason)})`;
}

const ATTEMPTS: readonly Column[] = [
  { head: 'Attempt', align: 'right' },
  { head: 'Phase' },
  { head: 'Started' },
  { head: 'Duration', align: 'right' },
  { head: 'Outcome' },
  { head: 'Response' },
];

function attemptRow(attempt: Attempt): string[] {
  return [
    String(attempt.number),
    attempt.phase,
    clockTime(attempt.startedAt),
    `${attempt.durationMs} ms`,
    attempt.outcome,
    answerOf(attempt),
  ];
}

/** Status or error, then the response text: it comes last because its length varies. */
function answerOf({ statusCode, error, snippet, lost }: Attempt): string {
  return [
    String(statusCode ?? error ?? ''),
    ...(lost === undefined ? [] : [`(${lost} lost)`]),
    ...(snippet === undefined || snippet === '' ? [] : [`"${snippet}"`]),
  ]
    .map(printable)
    .join(' ');
}

function plannedHead(waiting: Waiting | undefined): string {
  const isSlowed = waiting === 'receiver_throttled' || waiting === 'circuit_open';
  return `Planned attempts, if each one fails at once${isSlowed ? ' (back-pressure can delay them)' : ''}:`;
}

function plannedLines(planned: DeliveryDetail['planned']): string[] {
  return tableLines(
    [{ head: 'Attempt', align: 'right' }, { head: 'Phase' }, { head: 'Due' }],
    planned.map(({ number, phase, dueAt }) => [String(number), printable(phase), clockTime(dueAt)]),
  );
}
