import { InvalidArgumentError } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import type { DeliveryAddress } from '../../../api-client/deliveries.ts';
import { type DeliveryDetail, listDeliveriesOfMessage } from '../../../api-client/operations.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { findInFlight, waitsSoFar, waitsText } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { LISTED_STATUSES, type Waiting } from '../../../shared/domain/delivery/vocabulary.ts';
import { type DeliveryView, type InFlightView, WAITS } from '../../../shared/wire/views/delivery.ts';
import { NoSuchSubscription, resolveSubscription } from '../../api/find-subscription.ts';
import {
  option,
  parseSince,
  parseSubscription,
  parseTime,
  SUBSCRIPTION,
  TIME_FORMS,
} from '../../options/arguments.ts';
import { clockTime, colouredStatus, printable } from '../../output/text.ts';
import { fieldLines, right, tableLines } from '../../output/list.ts';
import type { Terminal } from '../../terminal.ts';

/** The delivery that a user means, also one to a subscription that is deleted. @throws Problem if there is none */
export async function findAddress(
  api: ApiClient,
  queue: string,
  messageId: string,
  reference: string,
): Promise<DeliveryAddress> {
  try {
    return { queue, messageId, subscriptionId: await resolveSubscription(api, queue, reference) };
  } catch (error) {
    if (!(error instanceof NoSuchSubscription)) throw error;
    const path = { queue, message: messageId };
    for await (const { subscriptionId } of api.list(listDeliveriesOfMessage, { path })) {
      if (shortId(subscriptionId) === reference) return { queue, messageId, subscriptionId };
    }
    throw error;
  }
}

export const EXAMPLE_ADDRESS = 'orders order-17 5b0c0f1e';

/** How to deliver a message whose queue had no subscription. */
export function keptDataText(queue: string, messageId: string): string {
  const send = commandText(`send ${queue} ${printable(shellWord(messageId))} --to SUBSCRIPTION`);
  return `Its data is kept: once there is one, run ${send}`;
}

/** The options that filter the deliveries of a queue. */
export const DELIVERY_FILTER = [
  option('--status <STATUS>', 'only deliveries with this status')
    .choices(LISTED_STATUSES)
    .argParser(parseStatus),
  option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, parseSubscription),
  option('--since <TIME>', `only for messages accepted since this time: ${TIME_FORMS}`, parseSince),
  option('--until <TIME>', 'only for messages accepted before this time', parseTime),
];

function parseStatus(text: string): string {
  if (LISTED_STATUSES.some((status) => status === text)) return text;
  const others = 'Delivered ones: --message ID, or --subscription ID --all.';
  throw new InvalidArgumentError(`Allowed choices are ${LISTED_STATUSES.join(', ')}. ${others}`);
}

type Shown = DeliveryView & Partial<Pick<DeliveryDetail, 'planned'>>;
type Attempt = Shown['attempts'][number];

/** A delivery as text: its fields, its attempts and its planned retries. `subscriber`: name or URL. */
export function describeDelivery(delivery: Shown, terminal: Terminal, subscriber?: string): string {
  const { queue, messageId, subscriptionId, acceptedAt, attempts } = delivery;
  return [
    ...fieldLines([
      ['Message', printable(messageId)],
      ['Queue', printable(queue)],
      ['Subscription', printable(subscriptionId)],
      ['Subscriber', subscriber && printable(subscriber)],
      ['Accepted', acceptedAt && clockTime(acceptedAt)],
      ['Status', colouredStatus(statusText(delivery), terminal)],
      ...nextFields(delivery),
    ]),
    ...(attempts.length === 0 ? [] : ['', ...attemptLines(attempts)]),
    ...plannedLines(delivery),
  ].join('\n');
}

/** `number`: of the attempt. Undefined: none is in flight, or its lease has ended. */
export function inFlightText(inFlight: InFlightView | undefined, number: number): string | undefined {
  const current = inFlight && findInFlight({ inFlight }, Date.now());
  return current === undefined
    ? undefined
    : `attempt ${number} since ${clockTime(current.since)}, until ${clockTime(current.until)} at the latest`;
}

function nextFields({ attempts, inFlight, nextAttempt: next }: Shown): [string, string | undefined][] {
  const flight = inFlightText(inFlight, attempts.length + 1);
  if (flight !== undefined) return [['In flight', flight]];
  if (next === undefined) return [];
  const { number, phase, dueAt, waiting } = next;
  return [
    ['Next attempt', `#${number} ${phase}, ${whenText(dueAt, waiting)}`],
    ['Waited so far', waitsText(waitsSoFar(next, Date.now()))],
  ];
}

/** When the next attempt starts. A delivery that waits asks again then, and may have to wait longer. */
export function whenText(dueAt: string | undefined, waiting: Waiting | undefined): string {
  // A paused delivery is past its due time.
  if (waiting === 'paused') return `waits ${WAITS.paused}`;
  return waiting === undefined ? clockTime(dueAt) : `not before ${clockTime(dueAt)}, waits ${WAITS[waiting]}`;
}

/** The same within a sentence that says why it waits. */
export function nextText(dueAt: string, waiting: Waiting | undefined): string {
  if (waiting === 'paused') return `waits ${WAITS.paused}`;
  return `${waiting === undefined ? 'next' : 'not before'} ${clockTime(dueAt)}`;
}

export function statusText({ status, reason }: { status: string; reason?: string | undefined }): string {
  return reason === undefined ? status : `${status} (${printable(reason)})`;
}

/** The waits have a column only if there are any. */
function attemptLines(attempts: readonly Attempt[]): string[] {
  const waits = attempts.some(({ waited }) => waitsText(waited) !== undefined) ? ['Waited'] : [];
  const columns = [right('Attempt'), 'Phase', ...waits, 'Started', right('Duration'), 'Outcome', 'Response'];
  const rows = attempts.map((attempt) => {
    const { number, phase, waited, startedAt, durationMs, outcome } = attempt;
    const waitCells = waits.map(() => waitsText(waited) ?? '');
    const result = [`${durationMs} ms`, outcome, formatAnswer(attempt)];
    return [String(number), phase, ...waitCells, clockTime(startedAt), ...result];
  });
  return tableLines(columns, rows);
}

/** Status or error, then the response text: it comes last because its length varies. */
function formatAnswer({ statusCode, error, snippet, lost }: Attempt): string {
  return [
    String(statusCode ?? error ?? ''),
    ...(lost === undefined ? [] : [`(${lost} lost)`]),
    ...(snippet === undefined || snippet === '' ? [] : [`"${snippet}"`]),
  ]
    .map(printable)
    .join(' ');
}

function plannedLines({ attempts, inFlight, nextAttempt, planned = [] }: Shown): string[] {
  // The attempt in flight is the first of the planned ones.
  const isFirstMade = inFlightText(inFlight, attempts.length + 1) !== undefined;
  const toCome = isFirstMade ? planned.slice(1) : planned;
  if (toCome.length === 0) return [];
  const delay = nextAttempt?.waiting && DELAYS[nextAttempt.waiting];
  return [
    '',
    `Planned attempts, if each one fails at once${delay === undefined ? '' : ` (${delay})`}:`,
    ...tableLines(
      [right('Attempt'), 'Phase', 'Due'],
      toCome.map(({ number, phase, dueAt }) => [String(number), printable(phase), clockTime(dueAt)]),
    ),
  ];
}

/** Why planned attempts start later. */
const DELAYS: Partial<Record<Waiting, string>> = {
  receiver_throttled: 'back-pressure can delay them',
  circuit_open: 'back-pressure can delay them',
  paused: 'the pause delays them',
};
