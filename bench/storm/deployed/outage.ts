import { Problem } from '../../../local/install/problem.mjs';
import type { ReceivedRequest } from '../../../test/support/receiver.ts';
import type { Request } from '../figures.ts';
import { requested } from './requested.ts';
import { pathOf, type QueueName, type StormySystem } from './stormy-system.ts';

/** Milliseconds: so long that the concurrency decides the rate, and not this machine. */
export const ANSWER_MS = 3_000;

/** What setting the last wake-ups may take. Milliseconds. */
const SETTLING_MS = 2_000;

/**
 * Publishes the messages to a subscriber that is away: it says to each, once, that it will be back at `backAt`, a whole second.
 * @throws Problem where this machine is too slow: by then not all have been tried
 */
export const strike = async (
  system: StormySystem,
  queue: QueueName,
  { ids, backAt }: { ids: readonly string[]; backAt: number },
): Promise<void> => {
  const { receiver } = system;
  const asked = new Set<string>();
  receiver.script(pathOf(queue), (request) => {
    const id = idOf(request);
    if (asked.has(id)) return { delayMs: ANSWER_MS };
    asked.add(id);
    return { status: 503, headers: { 'retry-after': new Date(backAt).toUTCString() } };
  });
  await system.publish(queue, ids);
  await requested(system, ids.length, () => asked.size);
  if (Date.now() > backAt - SETTLING_MS)
    throw new Problem(
      'This machine was too slow: not all messages were tried before their retries were due.',
    );
};

/** What such a subscriber was asked so far. */
export const requestsOf = ({ receiver }: StormySystem, queue: QueueName): Request[] => {
  const asked = new Set<string>();
  return receiver.received(pathOf(queue)).map((request) => {
    const id = idOf(request);
    const isFirst = !asked.has(id);
    asked.add(id);
    const { arrivedAt: at } = request;
    return isFirst
      ? { id, at, answeredAt: at, statusCode: 503 }
      : { id, at, answeredAt: at + ANSWER_MS, statusCode: 200 };
  });
};

const idOf = ({ headers }: ReceivedRequest): string => String(headers['webhook-id']);
