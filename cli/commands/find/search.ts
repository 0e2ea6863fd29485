import type { ApiClient } from '../../../api-client/api-client.ts';
import { findMessage } from '../../../api-client/messages.ts';
import { type ListedMessage, listMessages, readHealth } from '../../../api-client/operations.ts';
import { ApiRefusal, isRefusal, orElse } from '../../../api-client/refusal.ts';
import { cutText, MAX_PER_QUEUE, searchQueue } from '../../../api-client/search.ts';
import { labelOf, shortId } from '../../../api-client/subscription-labels.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import { stateOf } from '../subscription/change.ts';

/** Something that was found, and the command to go on with. */
export type Finding = {
  kind: 'message' | 'subscription';
  queue: string;
  id: string;
  text: string;
  next: string;
};

/** RFC 3339. */
export type Window = { since: string; until: string };

/** Queues searched at a time, with up to three requests each. */
const SIDE_BY_SIDE = 8;

/** `cuts`: a sentence for each queue that has more than was read. */
type Found = { findings: Finding[]; cuts: string[] };

/** `failed`: queues that refused to be searched, and the first reason. */
export type Searched = Found & { failed: { count: number; reason?: ApiRefusal } };

/** Searches queue by queue, several at a time. `window`: what the text means as a time. */
export async function search(
  api: ApiClient,
  queues: readonly string[],
  text: string,
  window: Window | undefined,
): Promise<Searched> {
  const searched = await inParallel(queues, SIDE_BY_SIDE, async (queue): Promise<OfQueue> => {
    try {
      return await (window === undefined ? foundFor(api, queue, text) : acceptedIn(api, queue, text, window));
    } catch (error) {
      if (error instanceof ApiRefusal) return { findings: [], cuts: [], refusal: error };
      throw error;
    }
  });
  const refusals = searched.flatMap(({ refusal }) => refusal ?? []);
  const [reason] = refusals;
  return {
    findings: searched.flatMap(({ findings }) => findings),
    cuts: searched.flatMap(({ cuts }) => cuts),
    failed: { count: refusals.length, ...(reason && { reason }) },
  };
}

type OfQueue = Found & { refusal?: ApiRefusal };

async function foundFor(api: ApiClient, queue: string, text: string): Promise<Found> {
  const { message, subscriptions, more } = await searchQueue(api, queue, text);
  return {
    findings: [
      ...(message === undefined ? [] : [messageFinding(message.view)]),
      ...subscriptions.map((view) => subscriptionFinding(queue, view)),
    ],
    cuts: more ? [cutText('subscriptions', queue)] : [],
  };
}

/** The message with this id, and those of the window. */
async function acceptedIn(api: ApiClient, queue: string, id: string, window: Window): Promise<Found> {
  const [named, { items, more }] = await Promise.all([
    findMessage(api, queue, id),
    api.items(listMessages, { path: { queue }, query: window, most: MAX_PER_QUEUE }),
  ]);
  const others = items.filter((message) => message.id !== named?.view.id);
  return {
    findings: [...(named === undefined ? [] : [named.view]), ...others].map(messageFinding),
    cuts: more ? [cutText('messages', queue)] : [],
  };
}

function messageFinding({ queue, id, acceptedAt, matched, deliveries }: ListedMessage): Finding {
  const states = Object.entries(deliveries ?? {}).flatMap(([status, count]) =>
    count === 0 ? [] : [`${count} ${status}`],
  );
  return {
    kind: 'message',
    queue,
    id,
    text: `accepted ${clockTime(acceptedAt)}: ${[`${matched} matched`, ...states].join(', ')}`,
    next: commandText(`explain ${queue} ${shellWord(id)}`),
  };
}

function subscriptionFinding(queue: string, view: SubscriptionView): Finding {
  return {
    kind: 'subscription',
    queue,
    id: view.id,
    text: `${labelOf(view)}: ${stateOf(view)}`,
    next: commandText(`subscription show ${queue} ${shellWord(shortId(view.id))}`),
  };
}

/**
 * Where a message without a record can be. `queues`: how many were looked in, of which `notSearched` refused; `moreQueues`:
 * there are others. `ingress`, `delayed` (there until a later time), `deadLetters`: messages there; absent if the caller
 * may not read them. `retentionDays`: how long messages stay on record.
 */
export type Absence = {
  queues: number;
  moreQueues?: true;
  notSearched?: number;
  retentionDays?: number | undefined;
  ingress?: number | undefined;
  delayed?: number | undefined;
  deadLetters?: number | undefined;
};

type Known = Omit<Absence, 'queues' | 'moreQueues' | 'notSearched'>;

/** Reads how many messages SQS holds that have no record, and how long records are kept. */
export async function knownOfAbsent(api: ApiClient): Promise<Known> {
  const health = await api.call(readHealth, {}).catch(orElse(isRefusal, undefined));
  if (health === undefined) return {};
  const { queues = {}, delayed = {}, retentionDays } = health;
  const { ingress, ingressDeadLetters: deadLetters } = queues;
  return { retentionDays, ingress, delayed: delayed['ingress'], deadLetters };
}

/** What it can mean that nothing was found. */
export function absenceText(
  what: string,
  { queues, moreQueues, notSearched = 0, retentionDays, ingress, delayed = 0, deadLetters }: Absence,
): string {
  const searched = queuesText({ queues, moreQueues });
  const refused = notSearched === 0 ? '' : `, of which ${notSearched} could not be searched`;
  const later = delayed === 0 ? '' : ` and ${delayed} until a later time`;
  return [
    `Nothing was found for ${printable(what)} in ${searched}${refused}. A message of this id`,
    '- was never accepted: it was not sent, or with another id or to another queue,',
    ...(moreQueues === true || notSearched > 0 ? ['- or is in a queue that was not searched,'] : []),
    `- or still waits in the ingress queue, which holds ${countText(ingress)}${later},`,
    `- or is among the ingress dead letters, of which there are ${countText(deadLetters)}: ${commandText('deadletters list ingress')}`,
    `- or is older than the retention of ${retentionDays === undefined ? 'the deployment' : `${retentionDays} days`} (retentionDays), or of its queue (_retention_days).`,
  ].join('\n');
}

/** Which queues were searched. */
export function queuesText({
  queues,
  moreQueues,
}: {
  queues: number;
  moreQueues?: true | undefined;
}): string {
  const all = counted(queues, 'queue', 'queues');
  return moreQueues === true ? `the first ${all}; use --queue for others` : all;
}

function countText(count: number | undefined): string {
  return count === undefined ? 'an unknown number' : `about ${count}`;
}
