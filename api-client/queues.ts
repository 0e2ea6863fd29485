import leven from 'leven';
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

/** The queues that a user probably meant, the nearest first: two, because one may be mistyped itself. */
export async function nearestNames(api: ApiClient, queue: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of api.list(listQueues, { most: MAX_NAMES })) names.push(name);
  } catch (error) {
    // A caller of one queue may not list all of them.
    if (!(error instanceof ApiRefusal)) throw error;
  }
  const maxDistance = Math.min(3, Math.ceil(queue.length / 3));
  const near = names
    .map((name) => ({ name, distance: leven(queue, name) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((one, other) => one.distance - other.distance);
  if (near.length > 0) return near.slice(0, 2).map(({ name }) => name);
  return names
    .filter((name) => name.includes(queue) || queue.includes(name))
    .toSorted((one, other) => one.length - other.length)
    .slice(0, 1);
}
