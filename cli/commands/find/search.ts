import type { ApiClient } from '../../api/api-request.ts';
import { ApiRefusal } from '../../api/api-refusal.ts';
import { labelOf, shortId } from '../../api/find-subscription.ts';
import { listMessages, showMessage, type ListedMessage } from '../../api/messages.ts';
import { NoSuchQueue } from '../../api/missing-queue.ts';
import { listSubscriptions } from '../../api/subscriptions.ts';
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

/** Findings of a kind per queue. */
export const MOST_PER_QUEUE = 10;

/** Searches queue by queue, several at a time. `retention`: the days that a refusal of the API names. */
export async function search(
  api: ApiClient,
  queues: readonly string[],
  what: string | Window,
): Promise<{ findings: Finding[]; retention?: string }> {
  const findings: Finding[] = [];
  let retention: string | undefined;
  const inQueue = async (queue: string): Promise<void> => {
    if (typeof what !== 'string') {
      findings.push(...(await messagesAt(api, queue, what)));
      return;
    }
    const [message, subscriptions] = await Promise.all([
      messageOf(api, queue, what),
      subscriptionsLike(api, queue, what),
    ]);
    if (message instanceof ApiRefusal) retention ??= /retention of (\d+ days)/.exec(message.message)?.[1];
    else findings.push(message);
    findings.push(...subscriptions);
  };
  for (let start = 0; start < queues.length; start += SIDE_BY_SIDE)
    await Promise.all(queues.slice(start, start + SIDE_BY_SIDE).map(inQueue));
  return { findings, ...(retention !== undefined && { retention }) };
}

async function messagesAt(api: ApiClient, queue: string, window: Window): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const message of listMessages(api, queue, { ...window, most: MOST_PER_QUEUE }))
    findings.push(messageFinding(message));
  return findings;
}

/** The message, or the API's refusal that says that it has none. */
async function messageOf(api: ApiClient, queue: string, id: string): Promise<Finding | ApiRefusal> {
  try {
    return messageFinding((await showMessage(api, queue, id)).view);
  } catch (error) {
    if (error instanceof ApiRefusal && (error.status === 404 || error.status === 400)) return error;
    throw error;
  }
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

async function subscriptionsLike(api: ApiClient, queue: string, text: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    for await (const view of listSubscriptions(api, queue, MOST_PER_QUEUE, text))
      findings.push({
        kind: 'subscription',
        queue,
        id: view.id,
        text: `${labelOf(view)}: ${stateOf(view)}`,
        next: commandText(`subscription show ${queue} ${shellWord(shortId(view.id))}`),
      });
  } catch (error) {
    // A deleted queue has messages, and no subscriptions.
    if (!(error instanceof NoSuchQueue)) throw error;
  }
  return findings;
}
