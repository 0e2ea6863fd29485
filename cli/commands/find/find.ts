import type { ApiClient, Listed } from '../../../api-client/api-client.ts';
import { parseLastTime, windowAround } from '../../../api-client/calendar-time.ts';
import { findMessage } from '../../../api-client/messages.ts';
import { type ListedMessage, listMessages, listQueues, readHealth } from '../../../api-client/operations.ts';
import { adviceFor, ApiRefusal, isRefusal, orElse } from '../../../api-client/refusal.ts';
import { cutText, MAX_PER_QUEUE, searchQueue } from '../../../api-client/search.ts';
import { formatLabel, shortId } from '../../../api-client/subscription-labels.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { findApi, apiClient } from '../../api/api-access.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import { argument, option, parseAge, parseId, parseQueue, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { clockTime, printable } from '../../output/text.ts';
import { describeState } from '../subscription/change.ts';

type Options = { queue?: string; limit: number };

/** `posthaste find` */
export const find = deployed<Options>({
  arguments: [
    argument(
      '<what>',
      'a message id, a part of a URL or name, the start of a subscription id, or a time',
      parseId,
    ),
  ],
  options: [
    option('--queue <QUEUE>', 'look only in this queue', parseQueue),
    option('--limit <N>', 'maximum of a kind per queue', wholeNumber(1), MAX_PER_QUEUE),
  ],
  json: 'one finding per line: kind, queue, id, text, next, queueDeleted; or found 0, queues, moreQueues, notSearched, retentionDays, ingress, delayed, deadLetters',
  more: `
Looks in all queues for a message with this id, and for subscriptions whose id
starts with the text or whose name or URL contains it; upper and lower case
count. For a time, such as 2026-11-22T14:00 (or with a blank for the T) or 14:00
(the last one), it lists messages accepted within five minutes of it; for a
date, those of that day; for an age, such as 2h, those accepted since; also a
message with that id. It looks neither for parts of a message id nor in the
data.
Messages of a deleted queue stay on record: --queue finds them.

Exit status: 0 if anything was found, otherwise 1.
`,
  examples: ['find order-55', 'find acme.example --queue orders', 'find 2026-11-22T14:00', 'find 2h'],
  run: async ({ options, terminal }, what) => {
    const api = apiClient(await findApi(options, terminal.env), terminal.sleep);
    const { items: queues, more } = await queuesToSearch(api, options);
    const limit = { queues: queues.length, ...(more && { moreQueues: true as const }) };
    if (more) terminal.printError(`Looks only in ${queuesText(limit)}.`);
    const window = parseWindow(what);
    const sought = { text: what, window, most: options.limit };
    const { findings, cuts, refusals } = await search(api, queues, sought);
    for (const finding of findings) terminal.printResult(options, finding, () => findingText(finding));
    [...cuts, ...refusedLines(refusals)].forEach(terminal.printError);
    if (findings.length > 0) return undefined;
    terminal.exitStatus = 1;
    if (options.queue !== undefined) await requireQueue(api, options.queue);
    const notSearched = refusals.length > 0 && { notSearched: refusals.length };
    const absence = { ...limit, ...notSearched, ...(window ?? (await knownOfAbsent(api))) };
    const nothingText = () =>
      window === undefined ? absenceText(what, absence, options) : noneInWindow(what, window, options);
    return [{ found: 0, ...absence }, nothingText];
  },
});

function findingText({ kind, queue, id, text, next, queueDeleted }: Finding): string {
  const of = queueDeleted === true ? `${queue} (deleted since)` : queue;
  return `${kind} ${printable(id)} of queue ${of}, ${printable(text)}\n  → ${printable(next)}`;
}

function refusedLines(refusals: readonly ApiRefusal[]): string[] {
  const [first] = refusals;
  if (first === undefined) return [];
  const counts = counted(refusals.length, 'queue', 'queues');
  return [`${counts} could not be searched: ${printable(first.message)}`, adviceFor(first) ?? []].flat();
}

/** More than this many queues would take minutes: --queue is needed then. */
const MAX_QUEUES = 1_000;

async function queuesToSearch(api: ApiClient, { queue }: Options): Promise<Listed<string>> {
  if (queue !== undefined) return { items: [queue], more: false };
  const { items, more } = await api.items(listQueues, { most: MAX_QUEUES });
  return { items: items.map(({ name }) => name), more };
}

/** The window around a time, of a whole day, or since an age; undefined for other texts. */
function parseWindow(what: string): Window | undefined {
  const now = Date.now();
  const age = parseAge(what);
  if (age !== undefined) return { since: timeText(now - age * 1000), until: timeText(now) };
  const time = parseLastTime(what, now);
  if (time === undefined) return undefined;
  const { since, until } = windowAround(time);
  return { since: timeText(since), until: timeText(until) };
}

/** Something that was found, and the command to go on with. */
type Finding = Record<'queue' | 'id' | 'text' | 'next', string> & {
  kind: 'message' | 'subscription';
  queueDeleted?: true;
};

/** RFC 3339. */
type Window = { since: string; until: string };

/** Queues searched at a time, with up to three requests each. */
const SIDE_BY_SIDE = 8;

/** What a queue has, or why it refused to be searched. `cuts`: a sentence if it has more than was read. */
type Found = { findings: Finding[]; cuts: string[]; refusal?: ApiRefusal };

/** `window`: what the text means as a time. `most`: of a kind per queue. */
type Sought = { text: string; window: Window | undefined; most: number };

/** Searches queue by queue, several at a time. */
async function search(api: ApiClient, queues: readonly string[], sought: Sought) {
  const { window } = sought;
  const searched = await inParallel(queues, SIDE_BY_SIDE, async (queue): Promise<Found> => {
    try {
      return await (window === undefined
        ? foundFor(api, queue, sought)
        : acceptedIn(api, queue, sought, window));
    } catch (error) {
      if (error instanceof ApiRefusal) return { findings: [], cuts: [], refusal: error };
      throw error;
    }
  });
  return {
    findings: searched.flatMap(({ findings }) => findings),
    cuts: searched.flatMap(({ cuts }) => cuts),
    refusals: searched.flatMap(({ refusal }) => refusal ?? []),
  };
}

async function foundFor(api: ApiClient, queue: string, { text, most }: Sought): Promise<Found> {
  const { message, subscriptions, more } = await searchQueue(api, queue, text, { most });
  return {
    findings: [
      ...(message === undefined ? [] : [messageFinding(message.view)]),
      ...subscriptions.map((view) => subscriptionFinding(queue, view)),
    ],
    cuts: more ? [moreText('subscriptions', queue, most)] : [],
  };
}

/** The message with this id, and those of the window. */
async function acceptedIn(
  api: ApiClient,
  queue: string,
  { text: id, most }: Sought,
  window: Window,
): Promise<Found> {
  const [named, { items, more }] = await Promise.all([
    findMessage(api, queue, id),
    api.items(listMessages, { path: { queue }, query: { ...window, deleted: true }, most }),
  ]);
  const others = items.filter((message) => message.id !== named?.view.id);
  const messages: FoundMessage[] = [...(named === undefined ? [] : [named.view]), ...others];
  return {
    findings: messages.map(messageFinding),
    cuts: more ? [moreText('messages', queue, most)] : [],
  };
}

function moreText(...cut: Parameters<typeof cutText>): string {
  return `${cutText(...cut)}: raise --limit for more.`;
}

type FoundMessage = ListedMessage & { queueDeleted?: true };

function messageFinding(message: FoundMessage): Finding {
  const { queue, id, acceptedAt, matched, filtered, deliveries, queueDeleted } = message;
  const states = Object.entries({ filtered, ...deliveries }).flatMap(([status, count]) =>
    count === 0 ? [] : [`${count} ${status}`],
  );
  return {
    kind: 'message',
    queue,
    id,
    text: `accepted ${clockTime(acceptedAt)}: ${[`${matched} matched`, ...states].join(', ')}`,
    next: commandText(`explain ${queue} ${shellWord(id)}`),
    ...(queueDeleted && { queueDeleted }),
  };
}

function subscriptionFinding(queue: string, view: SubscriptionView): Finding {
  return {
    kind: 'subscription',
    queue,
    id: view.id,
    text: `${formatLabel(view)}: ${describeState(view)}`,
    next: commandText(`subscription show ${queue} ${shellWord(shortId(view.id))}`),
  };
}

/**
 * Where a message without a record can be. `queues`: how many were looked in, of which `notSearched` refused; `moreQueues`:
 * there are others. `ingress`, `delayed` (there until a later time), `deadLetters`: messages there; absent if the caller
 * may not read them. `retentionDays`: how long messages stay on record.
 */
type Absence = {
  queues: number;
  moreQueues?: true | undefined;
  notSearched?: number;
  retentionDays?: number | undefined;
  ingress?: number | undefined;
  delayed?: number | undefined;
  deadLetters?: number | undefined;
};

/** Reads how many messages SQS holds that have no record, and how long records are kept. */
async function knownOfAbsent(api: ApiClient): Promise<Omit<Absence, 'queues'>> {
  const health = await api.call(readHealth, {}).catch(orElse(isRefusal, undefined));
  if (health === undefined) return {};
  const { queues = {}, delayed = {}, retentionDays } = health;
  const { ingress, ingressDeadLetters: deadLetters } = queues;
  return { retentionDays, ingress, delayed: delayed['ingress'], deadLetters };
}

/** Where it can be if no queue was named: no list has the names of deleted queues. */
function deletedQueue(what: string, { queue }: Options): string[] {
  if (queue !== undefined) return [];
  const command = commandText(`find ${printable(shellWord(what))} --queue QUEUE`);
  return [`a deleted queue, which is searched by its name only: ${command}`];
}

function noneInWindow(what: string, { since, until }: Window, options: Options): string {
  return [
    `No message was accepted from ${clockTime(since)} to ${clockTime(until)}, and none has the id ${printable(what)}.`,
    ...deletedQueue(what, options).map((queue) => `It may be of ${queue}`),
  ].join(' ');
}

/** What it can mean that nothing was found. */
function absenceText(
  what: string,
  { queues, moreQueues, notSearched = 0, retentionDays, ingress, delayed = 0, deadLetters }: Absence,
  options: Options,
): string {
  const searched = queuesText({ queues, moreQueues });
  const refused = notSearched === 0 ? '' : `, of which ${notSearched} could not be searched`;
  const later = delayed === 0 ? '' : ` and ${delayed} until a later time`;
  return [
    `Nothing was found for ${printable(what)} in ${searched}${refused}.`,
    `Not searched: parts of message ids, data, deleted subscriptions. To look by time: ${commandText('find 1h')}`,
    'A message of this id',
    '- was never accepted: it was not sent, or with another id or to another queue,',
    '- or is a CloudEvent, which is found by its time: its id here is a hash of its source and id,',
    ...(moreQueues === true || notSearched > 0 ? ['- or is in a queue that was not searched,'] : []),
    ...deletedQueue(what, options).map((queue) => `- or is of ${queue},`),
    `- or still waits in the ingress queue, which holds ${countText(ingress)}${later},`,
    `- or is among the ingress dead letters, of which there are ${countText(deadLetters)}: ${commandText('deadletters list ingress')}`,
    `- or is older than the retention of ${retentionDays === undefined ? 'the deployment' : `${retentionDays} days`} (retentionDays), or of its queue (_retention_days).`,
  ].join('\n');
}

/** Which queues were searched. */
function queuesText({ queues, moreQueues }: Pick<Absence, 'queues' | 'moreQueues'>): string {
  const all = counted(queues, 'queue', 'queues');
  return moreQueues === true ? `the first ${all}; use --queue for others` : all;
}

function countText(count: number | undefined): string {
  return count === undefined ? 'an unknown number' : `about ${count}`;
}
