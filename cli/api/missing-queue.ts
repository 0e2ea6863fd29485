import { Problem } from '../../local/install/problem.mjs';
import { commandText } from '../../local/command-name.ts';
import { type ApiClient, type ApiRequest, clientBy } from '../../api-client/api-client.ts';
import { findQueue, nearestName } from '../../api-client/queues.ts';
import { ApiRefusal, isNotFound } from '../../api-client/refusal.ts';
import { printable } from '../output/printable.ts';
import type { Terminal } from '../terminal.ts';

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

/** The queue that the request needs; undefined if the request itself asks for the queue. */
function queueIn({ method, path }: ApiRequest): string | undefined {
  const [, queue, rest] = /^\/v2\/(?:queues|credentials)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  return queue === undefined || (method === 'GET' && rest === undefined)
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
  { printError }: Pick<Terminal, 'printError'>,
): Promise<() => void> {
  let isNew = !(await isQueue(api, queue));
  return () => {
    if (isNew) printError(`There was no queue ${printable(queue)}: it was created.`);
    isNew = false;
  };
}

/** Whether there is such a queue. True as well for a caller that may publish but not read. */
export async function isQueue(api: ApiClient, queue: string): Promise<boolean> {
  try {
    return (await findQueue(api, queue)) !== undefined;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return true;
    throw error;
  }
}

/** There is no such queue. */
export class NoSuchQueue extends Problem {
  constructor(queue: string, near: string | undefined) {
    const advice =
      near === undefined ? `To see all queues, run ${commandText('queue list')}` : `Did you mean ${near}?`;
    super(`There is no queue ${queue}. ${advice}`);
  }
}

/** The error that there is no such queue, with the name that was probably meant. */
export async function noSuchQueue(api: ApiClient, queue: string): Promise<NoSuchQueue> {
  return new NoSuchQueue(queue, await nearestName(api, queue));
}
