import { closestMatch } from 'leven';
import { ApiRefusal } from './api-refusal.ts';
import type { ApiClient } from './api-request.ts';
import { queueNames } from './queues.ts';

/** Names to compare, to bound the requests. */
const MOST_NAMES = 1_000;

/** The queue whose name a user probably meant; undefined if all names are others. */
export async function nearestName(api: ApiClient, queue: string): Promise<string | undefined> {
  const names: string[] = [];
  try {
    for await (const name of queueNames(api, MOST_NAMES)) names.push(name);
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
