import type { ApiClient } from '../../api/api-request.ts';
import { labelOf, shortId } from '../../api/find-subscription.ts';
import { listMessages, type ListedMessage } from '../../api/messages.ts';
import { MOST_PER_QUEUE, searchQueue } from '../../api/search.ts';
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

/** Searches queue by queue, several at a time. */
export async function search(
  api: ApiClient,
  queues: readonly string[],
  what: string | Window,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const inQueue = async (queue: string): Promise<void> => {
    if (typeof what !== 'string') {
      findings.push(...(await messagesAt(api, queue, what)));
      return;
    }
    const { message, subscriptions } = await searchQueue(api, queue, what);
    if (message !== undefined) findings.push(messageFinding(message.view));
    findings.push(...subscriptions.map((view) => subscriptionFinding(queue, view)));
  };
  for (let start = 0; start < queues.length; start += SIDE_BY_SIDE)
    await Promise.all(queues.slice(start, start + SIDE_BY_SIDE).map(inQueue));
  return findings;
}

async function messagesAt(api: ApiClient, queue: string, window: Window): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const message of listMessages(api, queue, { ...window, most: MOST_PER_QUEUE }))
    findings.push(messageFinding(message));
  return findings;
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
