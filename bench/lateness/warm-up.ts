import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import type { Deployed } from '../measured/deployed.ts';
import { bySqs } from '../operations/paths.ts';
import type { BareRetries } from './bare-retries.ts';
import type { By } from './cells.ts';
import { BARE_PATH, type Subscriber } from './subscriber.ts';

/** Enough at a time for all processes that a function may have. */
const COUNT = 100;

const WITHIN_MS = 60_000;

const QUEUE = 'warm-up';

export const WARM_UP_PATH = `/${QUEUE}`;

/**
 * Starts the functions' processes. On a few processors the starts of many are in each other's way for seconds, and that is no
 * lateness of retries. @throws Problem when nothing comes of it
 */
export const warmUp = async (
  by: By,
  {
    deployed,
    bareRetries,
    subscriber,
  }: { deployed: Deployed; bareRetries: BareRetries; subscriber: Subscriber },
  signal: AbortSignal,
): Promise<void> => {
  const ours = idsOf(by);
  const bare = idsOf(`bare-${by}`);
  await deployed.makeQueue(QUEUE, bySqs(1));
  await deployed.subscribe(QUEUE, subscriber.url(WARM_UP_PATH));
  await deployed.publish(ours.map((id) => JSON.stringify({ queue: QUEUE, id, data: {} })));
  const cell = { by, delaySeconds: 1 };
  const url = subscriber.url(BARE_PATH);
  await Promise.all(bare.map((id, number) => bareRetries.send({ cell, number, id, url })));
  const came = (ids: readonly string[], requests: number): boolean =>
    ids.every((id) => subscriber.arrivals(id).length >= requests);
  const look = () => Promise.resolve(came(ours, 2) && came(bare, 1) ? true : undefined);
  const interval = { floor: 0.1, ceiling: 1 };
  if ((await pollUntil(look, { withinMs: WITHIN_MS, interval, signal })) === undefined)
    throw new Problem(`The first retries did not come in ${WITHIN_MS / 1000} s.`);
};

const idsOf = (prefix: string): readonly string[] =>
  Array.from({ length: COUNT }, (_, number) => `${QUEUE}-${prefix}-${number}`);
