import { dataIn, type MessageView, showMessage } from '../../../api-client/messages.ts';
import { eraseBody, type Explained, explainMessage } from '../../../api-client/operations.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import {
  counted,
  noneLeftText,
  STATUS_MEANINGS,
  waitsSoFar,
  waitsText,
  withTimes,
} from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { sumOfCounts } from '../../../shared/domain/delivery/books.ts';
import type { ExplainVerdict } from '../../../shared/domain/delivery/vocabulary.ts';
import { WAITS } from '../../../shared/wire/views/delivery.ts';
import {
  argument,
  MESSAGE_ADDRESS,
  option,
  parseSubscription,
  SUBSCRIPTION,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed, group } from '../../options/deployed.ts';
import { fieldLines, printList } from '../../output/list.ts';
import { clockTime, colouredStatus, printable, printableJson } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import { findAddress, inFlightText, keptDataText, nextText } from '../deliveries/delivery-text.ts';

const show = deployed<{ body?: true }>({
  description: 'Show a message: its deliveries by status, and its data while it is kept.',
  arguments: MESSAGE_ADDRESS,
  options: [
    option('--body', 'print only the data, byte for byte unless stdout is a terminal').conflicts('json'),
  ],
  json: 'the message, as in the API',
  examples: ['message show orders order-17', 'message show orders order-17 --body > order-17.json'],
  read: async ({ api, options, terminal }, queue, id) => {
    const shown = await showMessage(api, queue, id);
    // The response text is printed unchanged: parsing would drop digits of long numbers.
    if (options.json === true) terminal.print(printableJson(shown.text.trim()));
    else if (options.body === true) printBody(dataIn(shown), id, terminal);
    else terminal.print(describeMessage(shown.view, dataIn(shown)));
  },
});

function printBody(body: string | undefined, id: string, terminal: Terminal): void {
  if (body === undefined)
    throw new Problem(
      `The data of message ${id} is not kept: it was erased, it expired, or it matched and none of its deliveries failed.`,
    );
  if (terminal.stdout.isTTY === true) terminal.print(printableJson(body));
  else terminal.stdout.write(body);
}

function describeMessage(view: MessageView, body: string | undefined): string {
  const { id, queue, type, acceptedAt, duplicates, filtered, bodyKept, erasedAt, queueDeleted, eventFault } =
    view;
  const subscriptions = counted(view.matched, 'subscription', 'subscriptions');
  return fieldLines([
    ['Message', printable(id)],
    ['Queue', queueDeleted === true ? `${printable(queue)}, deleted since` : printable(queue)],
    ['Type', type === undefined ? undefined : printable(type)],
    ['Accepted', clockTime(acceptedAt)],
    ['Duplicates', String(duplicates)],
    ['Matched', filtered === 0 ? subscriptions : `${subscriptions}, ${filtered} filtered`],
    ['Event fault', eventFaultText(eventFault)],
    ['Fan-out', view.unfinished === true ? 'in progress: not sent to all subscriptions yet' : undefined],
    ['Deliveries', deliveriesText(view)],
    ['Erased', clockTime(erasedAt) || undefined],
    ['Data', body === undefined ? (bodyKept ? 'kept' : notKeptText(view)) : printableJson(body)],
  ]).join('\n');
}

function eventFaultText(fault: MessageView['eventFault']): string | undefined {
  if (fault === undefined) return undefined;
  const { reason, path = '', detail = '' } = fault;
  if (reason === 'unknown_event_type') return 'not in the catalogue of the queue';
  return printable(`${path === '' ? 'the data' : path} ${detail}`);
}

/** Until an attempt fails, only the work that is under way has the data. */
function notKeptText(view: MessageView): string {
  const { matched, unfinished, deliveries, deliveriesAtLeast, erasedAt } = view;
  if (erasedAt !== undefined || deliveriesAtLeast === true) return 'not kept';
  const begun = sumOfCounts(deliveries) - deliveries.pending;
  const isUnderWay = unfinished === true || begun < matched;
  return isUnderWay ? 'not kept yet: it is once an attempt fails' : 'not kept';
}

function deliveriesText({ deliveries, deliveriesAtLeast, matched, unfinished }: MessageView): string {
  if (matched === 0 && unfinished !== true) return 'none, because no subscription matched';
  const states = Object.entries(deliveries).filter(([, count]) => count > 0);
  const text = states.map(([status, count]) => `${count} ${status}`).join(', ') || 'none yet';
  return deliveriesAtLeast === true ? `at least ${text}` : text;
}

const erase = deployed({
  description: 'Erase the data of a message before it expires.',
  arguments: MESSAGE_ADDRESS,
  json: 'queue, messageId',
  more: `
The record of the message and its deliveries stays. Without the data, no
delivery of the message can be retried.
`,
  examples: ['message erase orders order-17'],
  write: async ({ api }, queue, message) => {
    await api.call(eraseBody, { path: { queue, message } });
    return [{ queue, messageId: message }, () => `Erased the data of message ${printable(message)}.`];
  },
});

export const messageCommands = group({ show, erase });

/** `posthaste explain` */
export const explain = deployed<{ limit?: number }>({
  arguments: [...MESSAGE_ADDRESS, argument('[subscription]', SUBSCRIPTION, parseSubscription)],
  options: [option('--limit <N>', 'maximum number of subscriptions (default: 100)', wholeNumber(1))],
  json: 'one subscription per line: subscriptionId, verdict, certain, detail, rule, delivery',
  more: `
Says for each subscription of the queue what became of the message, and why no
request was made where none was. A verdict with "?" is probable: options have
changed since, or the message's data is not kept. To send the message to a
subscription all the same, use posthaste send.
`,
  examples: ['explain orders order-17', 'explain orders order-17 ACME'],
  read: async ({ api, options, terminal }, queue, messageId, reference: string | undefined) => {
    const { subscriptionId: subscription } =
      reference === undefined ? {} : await findAddress(api, queue, messageId, reference);
    let [matched, isKept, title] = [0, false, ''];
    const schema = explainMessage.schema.transform((page) => {
      ({ matched, bodyKept: isKept } = page.message);
      title = explainedTitle(page.message);
      return page;
    });
    const explained = api.list(
      { ...explainMessage, schema },
      { path: { queue, message: messageId }, query: { subscription }, most: options.limit ?? 100 },
    );
    await printList(terminal, explained, {
      ...options,
      columns: COLUMNS,
      title: () => title,
      formatRow: (one) => formatRow(one, terminal),
      none: () => [noneLeftText(matched), ...(isKept ? [keptDataText(queue, messageId)] : [])].join(' '),
    }).catch((error: unknown) => {
      throw isNotFound(error) ? noSuchMessage(queue, messageId) : error;
    });
  },
});

function explainedTitle({ acceptedAt, eventFault }: Pick<MessageView, 'acceptedAt' | 'eventFault'>): string {
  const accepted = `Accepted ${clockTime(acceptedAt)}`;
  const fault = eventFaultText(eventFault);
  return fault === undefined ? accepted : `${accepted}. Event type: ${fault}`;
}

function noSuchMessage(queue: string, messageId: string): Problem {
  const find = commandText(`find ${printable(shellWord(messageId))}`);
  return new Problem(
    `There is no message ${messageId} on queue ${queue}. To look in all queues, run ${find}`,
  );
}

const COLUMNS = ['Subscription', 'Subscriber', 'Verdict', 'Why'];

function formatRow(explained: Explained, terminal: Terminal): string[] {
  const { subscriptionId, name, subscriber = '(deleted)', verdict, certain } = explained;
  return [
    printable(shortId(subscriptionId)),
    printable(name ?? subscriber),
    colouredStatus(certain ? verdict : `${verdict} ?`, terminal),
    printable(formatReason(explained)),
  ];
}

const MEANINGS: Record<ExplainVerdict, string> = {
  ...STATUS_MEANINGS,
  rate_limited: `it waits ${WAITS.rate_limited}`,
  receiver_throttled: `it waits ${WAITS.receiver_throttled}`,
  circuit_open: `it waits ${WAITS.circuit_open}`,
  paused: `it waits ${WAITS.paused}`,
  filtered: 'the subscription does not want it',
  unconfirmed: 'the subscription was not confirmed',
  disabled: 'the subscription was disabled',
  expired: 'the subscription or the message had expired',
  added_later: 'the subscription was created afterwards',
  not_sent_yet: 'it is not sent to all subscriptions yet',
  deleted: 'the subscription was deleted',
};

function formatReason(explained: Explained): string {
  const { delivery } = explained;
  const inFlight = delivery && inFlightText(delivery.inFlight, delivery.attemptCount + 1);
  return inFlight === undefined ? formatVerdict(explained) : `in flight: ${inFlight}`;
}

function formatVerdict(explained: Explained): string {
  const { verdict, delivery } = explained;
  const detail = detailText(explained);
  const meaning = detail === undefined ? undefined : meaningIn(detail, verdict);
  const said = [meaning ?? explainVerdict(explained), ...attemptsText(verdict, delivery)].join(', ');
  // A detail that is not the meaning is the advice.
  const advice = meaning !== undefined || detail === undefined ? adviceOn(explained) : [detail];
  return [said, ...advice].join('. ');
}

function detailText({ verdict, delivery, detail }: Explained): string | undefined {
  const isKnown = verdict === 'deleted' && delivery !== undefined;
  return isKnown ? undefined : detail && withTimes(detail.replace(/\.$/, ''), clockTime);
}

/**
 * A detail that stands for the meaning of the verdict: it says the same with its time or whose pause it is, or of a filter
 * that has changed since, which may match now.
 */
function meaningIn(detail: string, verdict: ExplainVerdict): string | undefined {
  if (!detail.startsWith('It ')) return undefined;
  const subject = detail.startsWith('It did not match') ? 'the subscription' : SUBJECTS[verdict];
  return subject && `${subject} ${detail.slice('It '.length)}`;
}

function explainVerdict({ verdict, rule, delivery }: Explained): string {
  const status = delivery?.lastAttempt?.statusCode;
  if (delivery?.reason === 'http_429') return 'the subscriber answered 429, which is not retried here';
  if (delivery?.reason === 'abort_requested')
    return `the subscriber asked not to get it again (webhook-delivery: abort-message), with ${status}`;
  return MEANINGS[verdict] + ruleText(rule);
}

/** What ends a wait that the operator can end, and what sends once more. */
function adviceOn({ verdict, delivery, subscriptionId }: Explained): string[] {
  if (delivery === undefined) return [];
  const { queue, messageId, reason, acceptedAt } = delivery;
  const id = shortId(subscriptionId);
  if (verdict === 'circuit_open')
    return [`If it works again: ${commandText(`subscription enable ${queue} ${id}`)}`];
  if (verdict === 'paused') return [`To see the pause: ${commandText(`subscription show ${queue} ${id}`)}`];
  if (verdict === 'exhausted' || (verdict === 'rejected' && !SAID_WITH_STATUS.has(reason)))
    return [`To retry: ${commandText(`retry ${queue} ${shellWord(messageId)} ${id}`)}`];
  if (reason !== 'http_429') return [];
  const update = commandText(`subscription update ${queue} ${id} --retry-throttled`);
  const recover = commandText(`recover start ${queue} --subscription ${id} --since ${acceptedAt}`);
  return [`To retry: ${update}, then ${recover}`];
}

/** Who "It" is in the details that say the same as the verdict and more: when, or whose pause it is. */
const SUBJECTS: Partial<Record<ExplainVerdict, string>> = {
  added_later: 'the subscription',
  deleted: 'the subscription',
  expired: 'the subscription',
  unconfirmed: 'the subscription',
  paused: 'it',
};

function ruleText(rule: Explained['rule']): string {
  if (rule === undefined) return '';
  if (rule.by === 'event_types') return ': its event_types do not include the type of the message';
  return `: its filter does not match${rule.path === undefined ? '' : ` at ${rule.path}`}`;
}

type Delivery = NonNullable<Explained['delivery']>;

function attemptsText(verdict: ExplainVerdict, delivery: Delivery | undefined): string[] {
  if (delivery === undefined) return [];
  const { attemptCount: count, nextAttemptAt, waiting, reason } = delivery;
  const waits = waitsText(waitsSoFar(delivery, Date.now()));
  return [
    ...(verdict === 'delivered' || SAID_WITH_STATUS.has(reason) ? [] : endText(delivery)),
    ...(count === 0 ? [] : [counted(count, 'attempt', 'attempts')]),
    ...(nextAttemptAt === undefined || verdict === 'paused' ? [] : [nextText(nextAttemptAt, waiting)]),
    ...(waits === undefined ? [] : [`waited ${waits}`]),
  ];
}

function endText({ lastAttempt, reason }: Delivery): string[] {
  const last = lastAttempt?.statusCode ?? lastAttempt?.error;
  const isSaid = reason === undefined || REPEATED.has(reason) || reason === `http_${last}`;
  return [...(last === undefined ? [] : [`last ${last}`]), ...(isSaid ? [] : [reason])];
}

/** Reasons that `explainVerdict` says in words, with the status. */
const SAID_WITH_STATUS: ReadonlySet<string | undefined> = new Set(['http_429', 'abort_requested']);

/** Reasons that the verdicts say in words. */
const REPEATED: ReadonlySet<string> = new Set([
  'retries_exhausted',
  'disabled',
  'subscription_deleted',
  'subscription_expired',
  'subscription_unconfirmed',
]);
