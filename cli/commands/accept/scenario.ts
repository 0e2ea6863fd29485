import { randomUUID } from 'node:crypto';
import {
  deleteQueue,
  type DeliveryDetail,
  getDelivery,
  putQueue,
  readHealth,
  subscribe as subscribeTo,
  updateSubscription,
} from '../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { pollUntil } from '../../../local/poll-until.ts';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import type { DeadLetter } from '../../../shared/domain/delivery/dead-letter.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import { RETENTION_DAYS } from '../../../shared/domain/retention.ts';
import type { PartialRetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { processDeadLetters } from '../../dead-letters/process-dead-letters.ts';
import { systemSleep } from '../../terminal.ts';
import { Refuted } from './check.ts';
import {
  type Behaviour,
  behavingUrl,
  KEY_HEADER,
  type Seen,
} from '../../../functions/acceptance/receiver.ts';
import type { World } from './world.ts';

/** No retry at all, to be changed in parts. */
export const NO_RETRIES = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 0,
  backoff_retries: 0,
  maximum_delay_retries: 0,
  minimum_delay: 1,
  maximum_delay: 1,
  jitter: 'none',
} as const satisfies PartialRetryPolicy;

/** A subscription of this run. `key`: of its requests at the receiver. */
export type Subscribed = { queue: string; subscription: string; key: string };

type Setup = {
  behaviour?: Behaviour;
  policy?: PartialRetryPolicy;
  options?: Record<string, unknown>;
  /** The key that the receiver verifies with. @default that of the subscription */
  wrongKey?: string;
};

/** A new queue of this run, which keeps its records as briefly as possible. It is deleted with its subscriptions. */
export async function createQueue(world: World, check: string): Promise<string> {
  const queue = `${world.prefix}-${check}`;
  world.undo.add({
    // Deliveries that fail on purpose leave a notice each. Removed once, after the queues.
    what: `notices of ${world.prefix} in the undeliverable queue`,
    command: commandText(`deadletters list undeliverable --deployment ${world.deployment.name}`),
    remove: () => takeDeadLetters(world, world.deployment.undeliverableQueueUrl),
  });
  world.undo.add({
    what: `queue ${queue}`,
    command: commandText(`queue delete ${queue} --yes --deployment ${world.deployment.name}`),
    remove: () => world.api.call(deleteQueue, { path: { queue }, query: { now: true } }),
  });
  await world.api.call(putQueue, {
    path: { queue },
    body: JSON.stringify({ _retention_days: RETENTION_DAYS.least }),
  });
  return queue;
}

/** A subscription of the receiver, which behaves as wanted. */
export async function subscribe(
  world: World,
  queue: string,
  { behaviour = { status: 200 }, policy, options = {}, wrongKey }: Setup = {},
): Promise<Subscribed> {
  const key = randomUUID();
  const all = { ...options, ...(policy && { _retry_policy: policy }) };
  const subscriber = behavingUrl(world.receiver.url, key, behaviour);
  const created = await world.api.call(subscribeTo, {
    path: { queue },
    body: JSON.stringify({ subscriber, options: all }),
  });
  if (created.confirmation !== undefined)
    throw new Refuted(
      'The deployment asks every subscriber for a confirmation, which this receiver does not give',
      'Run it on a deployment without the setting subscriptionConfirmation, or on one beside it.',
    );
  const { subscription_id: subscription, secret = '' } = created;
  const post_headers = { [KEY_HEADER]: wrongKey ?? secret };
  await world.api.call(updateSubscription, {
    path: { queue, subscription },
    body: JSON.stringify({ options: { ...all, post_headers } }),
  });
  return { queue, subscription, key };
}

/** Changes how the receiver answers the requests of a subscription. */
export async function behave(
  { api, receiver }: World,
  { queue, subscription, key }: Subscribed,
  behaviour: Behaviour,
): Promise<void> {
  const body = JSON.stringify({ subscriber: behavingUrl(receiver.url, key, behaviour) });
  await api.call(updateSubscription, { path: { queue, subscription }, body });
}

/** Publishes one message to a new queue with one subscription. */
export async function deliver(world: World, check: string, setup: Setup, data: unknown = { check }) {
  const subscribed = await subscribe(world, await createQueue(world, check), setup);
  const { id } = await world.publisher.publish({ queue: subscribed.queue, data });
  return { ...subscribed, message: id };
}

export type Delivered = Awaited<ReturnType<typeof deliver>>;

const INTERVAL = { floor: 0.5, ceiling: 2, exponent: 1.5 };

/**
 * The first value of `look` that is not undefined.
 * @throws Refuted, with where messages wait, if there is none in time
 */
export async function within<Value>(
  world: World,
  { what, seconds = 60 }: { what: string; seconds?: number | undefined },
  look: () => Value | undefined | Promise<Value | undefined>,
): Promise<Value> {
  const { signal } = world;
  const found = await pollUntil(async () => look(), { withinMs: seconds * 1000, interval: INTERVAL, signal });
  if (found !== undefined) return found;
  throw new Refuted(`${what}: not within ${seconds} s`, await adviseOnSilence(world));
}

/** The delivery once it has ended. */
export async function ended(
  world: World,
  { queue, message, subscription }: Omit<Delivered, 'key'>,
  seconds?: number,
): Promise<DeliveryDetail> {
  const path = { queue, message, subscription };
  return within(world, { what: `the delivery of ${message} ends`, seconds }, async () => {
    const delivery = await world.api.call(getDelivery, { path }).catch(orElse(isNotFound, undefined));
    return delivery === undefined || isOpenStatus(delivery.status) ? undefined : delivery;
  });
}

/** The requests of a subscription once there are so many. */
export function requests(
  world: World,
  { key }: Pick<Subscribed, 'key'>,
  count: number,
  seconds?: number,
): Promise<readonly Seen[]> {
  const what = `${counted(count, 'request', 'requests')} at the receiver`;
  return within(world, { what, seconds }, () => {
    const seen = world.receiver.seen(key);
    return seen.length < count ? undefined : seen;
  });
}

/** The first request of a subscription. */
export function firstRequest(world: World, { key }: Pick<Subscribed, 'key'>): Promise<Seen> {
  return within(world, { what: 'the webhook arrives' }, () => world.receiver.seen(key)[0]);
}

const CONSUMERS: Readonly<Record<string, string>> = {
  ingress: 'dispatch',
  delivery: 'deliver',
  retry: 'deliver',
  operation: 'operate',
};

/** Why nothing may have happened, by the counts of the work queues. */
async function adviseOnSilence({ api, deployment }: World): Promise<string> {
  const { queues = {} } = await api.call(readHealth, {});
  const [waiting] = Object.keys(CONSUMERS).filter((name) => (queues[name] ?? 0) > 0);
  if (waiting === undefined)
    return `Can the functions reach the receiver? See the log of deliver, ${deployment.functions.deliver}, for faults, and the other failed checks.`;
  return `Messages wait in the ${waiting} queue: ${CONSUMERS[waiting]} does not receive them, or fails. See whether its event source is enabled, and its log.`;
}

/** Seconds for which messages of others are hidden, if the run is killed meanwhile. */
const HIDDEN_SECONDS = 30;

/**
 * Removes the messages of this run from a dead-letter queue, and returns them. Others are left, and visible again. Ctrl-C
 * does not end it: what a run made is removed after that.
 */
export async function takeDeadLetters(
  { sqs, prefix }: Pick<World, 'sqs' | 'prefix'>,
  queueUrl: string,
): Promise<readonly DeadLetter[]> {
  const taken: DeadLetter[] = [];
  const deadLetters = sqsDeadLetterQueue({ sqs, queueUrl, sleep: systemSleep });
  await processDeadLetters(
    { deadLetters, clock: { sleep: systemSleep } },
    {
      startedAt: Infinity,
      hiddenSeconds: HIDDEN_SECONDS,
      wants: ({ body }) => body.includes(prefix),
      read: (deadLetter) => ({ kind: 'redrive', message: deadLetter, identity: deadLetter.id }),
      handle: (ours) => {
        taken.push(...ours);
        return Promise.resolve(ours.map(() => ({ kind: 'redriven' })));
      },
    },
  );
  return taken;
}
