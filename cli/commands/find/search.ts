import type { ApiClient } from '../../api/api-request.ts';
import { labelOf, shortId } from '../../api/find-subscription.ts';
import { listMessages, type ListedMessage } from '../../api/messages.ts';
import { itemsOf } from '../../api/listing.ts';
import { cutText, MOST_PER_QUEUE, searchQueue } from '../../api/search.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { commandText, shellWord } from '../../command-name.ts';
import { clockTime } from '../../output/time-text.ts';
import { stateOf } from '../subscription/subscription-fields.ts';

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
export type Searched = { findings: Finding[]; cuts: string[] };

/** Searches queue by queue, several at a time. */
export async function search(
  api: ApiClient,
  queues: readonly string[],
  what: string | Window,
): Promise<Searched> {
  const searched: Searched = { findings: [], cuts: [] };
  const inQueue = async (queue: string): Promise<void> => {
    const { findings, cuts } =
      typeof what === 'string' ? await foundFor(api, queue, what) : await acceptedIn(api, queue, what);
    searched.findings.push(...findings);
    searched.cuts.push(...cuts);
  };
  for (let start = 0; start < queues.length; start += SIDE_BY_SIDE)
    await Promise.all(queues.slice(start, start + SIDE_BY_SIDE).map(inQueue));
  return searched;
}

async function foundFor(api: ApiClient, queue: string, text: string): Promise<Searched> {
  const { message, subscriptions, more } = await searchQueue(api, queue, text);
  return {
    findings: [
      ...(message === undefined ? [] : [messageFinding(message.view)]),
      ...subscriptions.map((view) => subscriptionFinding(queue, view)),
    ],
    cuts: more ? [cutText('subscriptions', queue)] : [],
  };
}

async function acceptedIn(api: ApiClient, queue: string, window: Window): Promise<Searched> {
  const { items, more } = await itemsOf(listMessages(api, queue, { ...window, most: MOST_PER_QUEUE }));
  return { findings: items.map(messageFinding), cuts: more ? [cutText('messages', queue)] : [] };
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
