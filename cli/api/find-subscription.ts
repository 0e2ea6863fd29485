import { type ApiClient, type ApiRequest, clientBy } from '../../api-client/api-client.ts';
import { listSubscriptions } from '../../api-client/operations.ts';
import { findQueue, nearestNames } from '../../api-client/queues.ts';
import { isForbidden, isNotFound, isRefusal, orElse } from '../../api-client/refusal.ts';
import { formatLabel, isWholeId, shortId } from '../../api-client/subscription-labels.ts';
import { commandText } from '../../local/command-name.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';
import { printable } from '../output/text.ts';
import type { Terminal } from '../terminal.ts';

/** Shorter texts fit too many ids. */
const LEAST_PREFIX = 4;

/** Subscriptions that an error names. */
const MAX_NAMED = 3;

type Named = Pick<SubscriptionView, 'id' | 'name' | 'subscriber'>;

/**
 * The id of the subscription that a user means: by its id, the start of its id, its name or its URL. A whole id is taken
 * as it is, so that deliveries of a deleted subscription stay in reach.
 * @throws NoSuchSubscription; Problem if several fit
 */
export async function resolveSubscription(api: ApiClient, queue: string, reference: string): Promise<string> {
  if (isWholeId(reference)) return reference;
  const fitting: Named[] = [];
  const near: Named[] = [];
  try {
    const given = { path: { queue }, query: { match: reference } };
    for await (const found of api.list(listSubscriptions, given)) {
      // Both are unique on the queue.
      if (found.id === reference || found.subscriber === reference) return found.id;
      (isMeant(found, reference) ? fitting : near).push(found);
    }
  } catch (cause) {
    if (!isMatchUnknown(cause)) throw cause;
    throw new Problem(
      'Names and URLs of subscriptions need a deployment of this version: give the whole id, or update the deployment.',
      { cause },
    );
  }
  return theOnly(fitting, near, queue, reference);
}

function theOnly(
  fitting: readonly Named[],
  near: readonly Named[],
  queue: string,
  reference: string,
): string {
  const [first, second] = fitting;
  if (first === undefined) throw new NoSuchSubscription(queue, reference, near);
  if (second === undefined) return first.id;
  throw new Problem(
    `${reference} fits ${fitting.length} subscriptions of queue ${queue}: ` +
      `${formatNames(fitting, ', ')}. Give more of the id.`,
  );
}

export function isMeant({ id, name }: Named, reference: string): boolean {
  return name === reference || (reference.length >= LEAST_PREFIX && id.startsWith(reference));
}

/** Whether an earlier version refused the parameter `match`. */
function isMatchUnknown(error: unknown): boolean {
  return isRefusal(error) && error.status === 400 && error.fields.some(({ field }) => field === 'match');
}

/** No subscription has this id, start of an id, name or URL. */
export class NoSuchSubscription extends Problem {
  constructor(queue: string, reference: string, near: readonly Named[]) {
    super(
      `There is no subscription ${reference} on queue ${queue}. ` +
        (near.length === 0
          ? `To see all, run ${commandText(`subscription list ${queue}`)}`
          : `Did you mean ${formatNames(near, ' or ')}?`),
    );
  }
}

function formatNames(subscriptions: readonly Named[], separator: string): string {
  return subscriptions
    .slice(0, MAX_NAMED)
    .map((one) => `${shortId(one.id)} (${formatLabel(one)})`)
    .join(separator);
}

/** The client, with one more question where the API finds nothing: is it the queue that is missing? */
export function namingMissingQueues(api: ApiClient): ApiClient {
  return clientBy(api.name, async (request) => {
    try {
      return await api.send(request);
    } catch (error) {
      const queue = isNotFound(error) ? queueIn(request) : undefined;
      if (queue !== undefined) await requireQueue(api, queue);
      throw error;
    }
  });
}

/** The queue that the request needs; undefined if the request itself asks for the queue, or restores it. */
function queueIn({ method, path }: ApiRequest): string | undefined {
  const [, queue, rest] = /^\/v2\/(?:queues|credentials)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  return queue === undefined || (method === 'GET' && rest === undefined) || rest === '/restore'
    ? undefined
    : decodeURIComponent(queue);
}

/**
 * Checks that there is such a queue: publishing would create a mistyped one.
 * @throws Problem with a suggestion.
 */
export async function requireQueue(api: ApiClient, queue: string): Promise<void> {
  if (!(await isQueue(api, queue))) throw await noSuchQueue(api, queue);
}

/** Call the result once the queue exists: it says once on stderr that it is new, as a mistyped one would be. */
export async function newQueueNotice(
  api: ApiClient,
  queue: string,
  { printError }: Terminal,
): Promise<() => void> {
  let isNew = !(await isQueue(api, queue));
  return () => {
    if (isNew) printError(`There was no queue ${printable(queue)}: it was created.`);
    isNew = false;
  };
}

/** Whether there is such a queue. True as well for a caller that may publish but not read. */
export async function isQueue(api: ApiClient, queue: string): Promise<boolean> {
  return (await findQueue(api, queue).catch(orElse(isForbidden, 'unreadable'))) !== undefined;
}

/** There is no such queue. */
export class NoSuchQueue extends Problem {
  constructor(queue: string, near: readonly string[]) {
    const advice =
      near.length === 0
        ? `To see all queues, run ${commandText('queue list')}`
        : `Did you mean ${near.join(' or ')}?`;
    super(`There is no queue ${queue}. ${advice}`);
  }
}

/** The error that there is no such queue, with the name that was probably meant. */
export async function noSuchQueue(api: ApiClient, queue: string): Promise<NoSuchQueue> {
  return new NoSuchQueue(queue, await nearestNames(api, queue));
}
