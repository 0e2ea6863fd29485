import type { DeliverPorts } from '../../functions/deliver/context.ts';
import type { Reply } from '../../shared/domain/delivery/outcome.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import { aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import { type Chance, seededChance } from '../../test/support/chance.ts';
import { LARGE_REGION, START, stormWorld } from '../storm/world.ts';
import type { Receiver } from './receivers.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Function instances, each with batches of up to ten. */
const INSTANCES = 10;

/** A request arrives up to this long after it was sent. */
const JITTER_MS = 300;
const ANSWER_MS = 20;

/** The default of `subscriptionCacheSeconds`. */
const CACHE_MS = 5 * SECOND;

const OVER_AFTER = 60 * MINUTE;

/** Milliseconds since the first publish. */
export type Seen = { at: number; reply: Reply };

export type Played = {
  requests: readonly Seen[];
  /** Number of deliveries with a success. */
  delivered: number;
  wakeUps: number;
};

export type Plan = {
  messages: number;
  perSecond: number;
  receiver: Receiver;
  options?: Subscription['options'];
  seed: number;
};

/**
 * Publishes messages to one subscriber and plays until all deliveries have ended, in virtual time. The functions are
 * the real ones, as in the storm bench; each instance has a cache of subscriptions.
 * @throws Error when it does not end
 */
export async function play({ messages, perSecond, receiver, options = {}, seed }: Plan): Promise<Played> {
  const requests: Seen[] = [];
  const chance = seededChance(seed);
  const world = stormWorld({
    quotas: LARGE_REGION,
    concurrency: { dispatch: INSTANCES, deliver: INSTANCES, retry: INSTANCES },
    manner: () => ({ statusCode: 200, takesMs: ANSWER_MS }),
    sabotage: ({ clock, subscriptions }) => ({
      subscriptions: withCache(subscriptions, clock),
      subscriber: subscriberOf(receiver, { clock, chance, requests }),
    }),
  });
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: { adapt_to_throttling: true, hold_while_down: true, ...options } }),
  );
  for (let index = 0; index < messages; index += 1)
    world.time.at(START + (index * SECOND) / perSecond, () => {
      world.publish(aMessage({ id: `m-${index}` }));
    });
  for (let at = START + MINUTE; at < START + OVER_AFTER; at += MINUTE) world.time.at(at, world.reconcile);
  if ((await world.time.runOut(START + OVER_AFTER)) === 'endless')
    throw new Error('Deliveries were still waiting after an hour.');
  const delivered = [...world.deliveries.records.values()].filter(({ status }) => status === 'delivered');
  return { requests, delivered: delivered.length, wakeUps: world.hops() };
}

type Recorder = { clock: Pick<Clock, 'now' | 'sleep'>; chance: Chance; requests: Seen[] };

function subscriberOf(receiver: Receiver, { clock, chance, requests }: Recorder): DeliverPorts['subscriber'] {
  return {
    post: async () => {
      await clock.sleep(chance.next() * JITTER_MS);
      const at = clock.now() - START;
      const reply = receiver(at);
      requests.push({ at, reply });
      await clock.sleep(ANSWER_MS);
      return reply;
    },
  };
}

/** As the adapter of DynamoDB: a write drops what the instance has read. */
function withCache(subscriptions: Subscriptions, clock: Pick<Clock, 'now'>): Subscriptions {
  let cached: { found: Awaited<ReturnType<Subscriptions['find']>>; at: number } | undefined;
  return {
    ...subscriptions,
    find: async (queue, id, freshness) => {
      if (freshness === 'cached' && cached !== undefined && clock.now() - cached.at < CACHE_MS)
        return cached.found;
      const found = await subscriptions.find(queue, id, freshness);
      cached = { found, at: clock.now() };
      return found;
    },
    changeHealth: (queue, id, change) => {
      cached = undefined;
      return subscriptions.changeHealth(queue, id, change);
    },
  };
}
