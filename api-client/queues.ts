import { closestMatch } from 'leven';
import type { ApiClient } from './api-client.ts';
import { getQueue, listQueues } from './operations.ts';
import { ApiRefusal, isNotFound, orElse } from './refusal.ts';

/** The queue's metadata; undefined if there is no such queue. */
export function findQueue(api: ApiClient, queue: string): Promise<Record<string, unknown> | undefined> {
  return api.call(getQueue, { path: { queue } }).catch(orElse(isNotFound, undefined));
}

/** The path of a metadata key in a patch (RFC 6901 §3). */
export function metadataPointer(key: string): string {
  return `/metadata/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Names to compare, to bound the requests. */
const MAX_NAMES = 1_000;

/** The queue whose name a user probably meant; undefined if all names are others. */
export async function nearestName(api: ApiClient, queue: string): Promise<string | undefined> {
  const names: string[] = [];
  try {
    for await (const { name } of api.list(listQueues, { most: MAX_NAMES })) names.push(name);
  } catch (error) {
    // A caller of one queue may not list all of them.
    if (!(error instanceof ApiRefusal)) throw error;
  }
  const maxDistance = Math.min(3, Math.ceil(queue.length / 3));
  return (
    closestMatch(queue, names, { maxDistance }) ??
    names
      .filter((name) => name.includes(queue) || queue.includes(name))
      .toSorted((one, other) => one.length - other.length)[0]
  );
}
