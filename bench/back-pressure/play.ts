import type { DeliverPorts } from '../../functions/deliver/context.ts';
import type { Reply } from '../../shared/domain/retry/outcome.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import { addSubscription } from '../../test/support/add-subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import { type Chance, seededChance } from '../../test/support/chance.ts';
import { LARGE_REGION, START, stormWorld } from '../storm/world.ts';
import { type Receiver, TIMEOUT_MS } from './receivers.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A request arrives up to this long after it was sent. */
const JITTER_MS = 300;
const ANSWER_MS = 20;

/** The default of `subscriptionCacheSeconds`. */
const CACHE_MS = 5 * SECOND;

/** Milliseconds since the first publish. */
export type Seen = { at: number; reply: Reply };

/** Messages at an even rate from `from` on. Milliseconds. */
export type Traffic = { messages: number; perSecond: number; from: number };

export type Plan = {
  traffic: readonly Traffic[];
  receiver: Receiver;
  policy?: PartialRetryPolicy;
  /** Function instances, each with batches of up to ten. */
  instances: number;
  /** Whether both switches are on. */
  isOn: boolean;
  /** When the measurement ends, if deliveries still wait. Milliseconds. */
  endsAt: number;
};

/** `ended`: number of deliveries by status. `mostWrites`: of one second, to the common counts. */
export type Played = {
  requests: readonly Seen[];
  delivered: number;
  rejectedOrExhausted: number;
  mostWrites: number;
};

/**
 * Publishes messages to one subscriber and plays to the end, in virtual time. The functions are the real ones, as in the
 * storm bench; each instance has a cache of subscriptions.
 */
export async function play(plan: Plan): Promise<Played> {
  const { traffic, receiver, policy = {}, instances, isOn, endsAt } = plan;
  const requests: Seen[] = [];
  const writes = new Map<number, number>();
  const chance = seededChance(1);
  const world = stormWorld({
    quotas: LARGE_REGION,
    concurrency: { dispatch: instances, deliver: instances, retry: instances },
    manner: () => ({ statusCode: 200, takesMs: ANSWER_MS }),
    sabotage: ({ clock, subscriptions, countingWindows }) => ({
      subscriptions: withCache(subscriptions, clock),
      subscriber: subscriberOf(receiver, { clock, chance, requests }),
      countingWindows: {
        ...countingWindows,
        find: (key) => countingWindows.find(key),
        add: (key, version, counts) => {
          const second = Math.floor(clock.now() / SECOND);
          writes.set(second, (writes.get(second) ?? 0) + 1);
          return countingWindows.add(key, version, counts);
        },
      },
    }),
  });
  await world.subscriptions.putQueue(aQueue());
  const options = { _retry_policy: policy, adapt_to_throttling: isOn, hold_while_down: isOn };
  await addSubscription(world.subscriptions, aSubscription({ options }));
  let number = 0;
  for (const { messages, perSecond, from } of traffic)
    for (let index = 0; index < messages; index += 1) {
      const id = `m-${number}`;
      world.time.at(START + from + (index * SECOND) / perSecond, () => {
        world.publish(aMessage({ id }));
      });
      number += 1;
    }
  for (let at = START + MINUTE; at < START + endsAt; at += MINUTE) world.time.at(at, world.reconcile);
  await world.time.runOut(START + endsAt);
  const statuses = [...world.deliveries.records.values()].map(({ status }) => status);
  return {
    requests: requests.filter(({ at }) => at <= endsAt),
    delivered: statuses.filter((status) => status === 'delivered').length,
    rejectedOrExhausted: statuses.filter((status) => status === 'rejected' || status === 'exhausted').length,
    mostWrites: Math.max(0, ...writes.values()),
  };
}

type Recorder = { clock: Pick<Clock, 'now' | 'sleep'>; chance: Chance; requests: Seen[] };

function subscriberOf(receiver: Receiver, { clock, chance, requests }: Recorder): DeliverPorts['subscriber'] {
  return {
    post: async ({ headers }) => {
      await clock.sleep(chance.next() * JITTER_MS);
      const at = clock.now() - START;
      const number = Number(headers['webhook-id']?.slice(2));
      const reply = receiver({ now: at, number }, chance);
      requests.push({ at, reply });
      const hangs = reply.kind === 'unanswered' && reply.error === 'timeout';
      await clock.sleep(hangs ? TIMEOUT_MS : ANSWER_MS);
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
