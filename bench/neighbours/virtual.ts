import { pause } from '../../shared/domain/subscription/pause.ts';
import { addSubscription } from '../../test/support/add-subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import { type Quantiles, quantilesOf } from '../harness/figures.ts';
import { type Concurrency, LARGE_REGION, START, stormWorld, type StormWorld } from '../storm/world.ts';

const SECOND = 1_000;

/** Each has one subscriber, which answers in 20 ms, and one message a second. */
const QUIET = Array.from({ length: 10 }, (_, index) => `quiet-${index}`);
const NOISY = 'noisy';
const ANSWER_MS = 20;

/** The messages of one queue, and the answers of its subscriber. */
export type Noise = {
  messages: number;
  withinSeconds: number;
  statusCode: number;
  takesMs: number;
  maxPerSecond?: number;
  /** From the start. What waits is then sent at the default rate. */
  pausedSeconds?: number;
};

export type Neighbourhood = {
  /** How long the quiet queues get messages. */
  seconds: number;
  watchedSeconds: number;
  noise?: Noise | undefined;
  concurrency: Concurrency;
  /** Whether messages carry groups, which make the queues of SQS fair. */
  isFair: boolean;
};

/** `waits`: of the quiet queues' messages from publish to first request, in ms. `calls`: of AWS, for all queues. */
export type Quiet = { waits: Quantiles; calls: number };

/** @throws Error when a message of a quiet queue was not sent */
export async function measureQuiet(options: Neighbourhood): Promise<Quiet> {
  const { seconds, watchedSeconds, noise, concurrency, isFair } = options;
  const manner = (_: number, url: string) =>
    noise !== undefined && url === addressOf(NOISY) ? noise : { statusCode: 200, takesMs: ANSWER_MS };
  const world = stormWorld({ quotas: LARGE_REGION, concurrency, isFair, manner });
  for (const name of QUIET) await subscribe(world, name);
  await subscribe(world, NOISY, noise?.maxPerSecond);
  if (noise?.pausedSeconds !== undefined) await pauseNoisy(world, START + noise.pausedSeconds * SECOND);
  const published = new Map<string, number>();
  const publish = (queue: string, count: number, gapMs: number, offsetMs = 0): void => {
    for (let index = 0; index < count; index += 1) {
      const [id, at] = [`${queue}-${index}`, START + offsetMs + index * gapMs];
      if (queue !== NOISY) published.set(id, at);
      world.time.at(at, () => {
        world.publish(aMessage({ id, queue }));
      });
    }
  };
  for (const [turn, queue] of QUIET.entries())
    publish(queue, seconds, SECOND, (turn * SECOND) / QUIET.length);
  if (noise !== undefined) publish(NOISY, noise.messages, (noise.withinSeconds * SECOND) / noise.messages);
  await world.time.run(START + watchedSeconds * SECOND);
  const firsts = new Map(world.requests.toReversed().map(({ id, at }) => [id, at]));
  const waits = [...published].flatMap(([id, at]) => {
    const first = firsts.get(id);
    return first === undefined ? [] : [first - at];
  });
  if (waits.length < published.size)
    throw new Error(`${published.size - waits.length} messages of quiet queues were not sent.`);
  return { waits: quantilesOf(waits), calls: world.calls() };
}

async function subscribe({ subscriptions }: StormWorld, name: string, max_per_second?: number) {
  const options = max_per_second === undefined ? {} : { max_per_second };
  await subscriptions.putQueue(aQueue({ name }));
  await addSubscription(
    subscriptions,
    aSubscription({ id: name, queue: name, subscriber: addressOf(name), options }),
  );
}

async function pauseNoisy({ subscriptions, operations }: StormWorld, until: number): Promise<void> {
  const key = { queue: NOISY, subscriptionId: NOISY };
  await subscriptions.changeSubscription({ ...key, now: START }, (current) =>
    pause(current, { now: START, until }),
  );
  await operations.send({ kind: 'pause', ...key, version: START }, 0);
}

function addressOf(name: string): string {
  return `https://${name}.test/`;
}
