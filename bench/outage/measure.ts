import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import { addSubscription } from '../../test/support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import {
  type Failing,
  type Failure,
  LARGE_REGION,
  START,
  stormWorld,
  type StormWorld,
} from '../storm/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** When the retries of the messages of before are due, in the middle of the first minute of the outage. */
const RETRY_DELAY = 20 * MINUTE;
const FROM = START + RETRY_DELAY - 30 * SECOND;
const PUBLISHED_WITHIN = 2 * SECOND;

/** More than a delivery takes that is received eight minutes after the end. */
const WATCHED = 60 * MINUTE;

/** A call that is given up: three requests of three seconds (shared/adapters/aws), and the delays between them. */
const TIMEOUT_MS = 10 * SECOND;
const ERROR_MS = 10;

/** More than a job contains, so that the message is in the payload bucket. */
const LARGE_DATA = JSON.stringify('x'.repeat(70_000));

const DYNAMODB = ['deliveries', 'chunks', 'messageRecords', 'subscriptions', 'rateLimits', 'countingWindows'];

/** Services that fail, by the calls that need them. */
export const SERVICES = {
  DynamoDB: (port: string) => DYNAMODB.includes(port),
  KMS: (port: string) => port === 'secretOpener',
  S3: (port: string) => port === 'payloads',
  Scheduler: (port: string, method: string) => port === 'scheduler' || method === 'schedule',
  // What Scheduler sends is lost too.
  'sends to the retry queue': (port: string, method: string) =>
    port === 'scheduler' || method === 'sendDelayed',
  'DynamoDB and KMS': (port: string) => DYNAMODB.includes(port) || port === 'secretOpener',
} satisfies Record<string, (port: string, method: string) => boolean>;

export type OutagePlan = {
  service: keyof typeof SERVICES;
  /** `timeout`: each call is given up after ten seconds. */
  fails: 'error' | 'timeout';
  minutes: number;
  /** Messages published when the outage begins, and messages of before with a retry in it. */
  queued: number;
  retries: number;
};

/** Seconds after the end of the outage; a message that was delivered before counts as 0. */
export type OutageFigures = Pick<OutagePlan, 'service' | 'fails'> & {
  /** Of any message. Not known of the deployed system. */
  mostReceives?: number;
  deadLetters: number;
  lost: number;
  /** Successful requests beyond one for each message. */
  repeated: number;
  seconds95: number;
  secondsAll: number;
};

/**
 * Plays an outage of one service. The first request of a message fails, so that each needs a retry in or after the outage:
 * of those published in it, only where first attempts can be made.
 */
export async function measureOutage(plan: OutagePlan): Promise<OutageFigures> {
  const { service, fails, minutes, queued, retries } = plan;
  const until = FROM + minutes * MINUTE;
  const failing: Failing = (port, method) =>
    world.time.now() >= FROM && world.time.now() < until && SERVICES[service](port, method)
      ? failureOf(method, fails)
      : undefined;
  const tries = new Map<string, number>();
  const world = stormWorld({
    quotas: LARGE_REGION,
    manner: (_now, url, id) => {
      tries.set(id, (tries.get(id) ?? 0) + 1);
      const isFirst = tries.get(id) === 1 && !url.includes('accepts');
      return { statusCode: isFirst ? 503 : 200, takesMs: 50 };
    },
    failing,
  });
  await play(world, plan, until);
  const accepted = world.requests
    .filter(({ statusCode }) => statusCode === 200)
    .map(({ id, answeredAt: at }) => ({ id, at }));
  return {
    service,
    fails,
    mostReceives: world.mostReceives(),
    deadLetters: world.deadLetters(),
    ...afterOutage(accepted, until, queued + retries),
  };
}

/** `accepted`: requests that a subscriber answered with success, in the order of time. */
export function afterOutage(
  accepted: readonly { id: string; at: number }[],
  until: number,
  total: number,
): Pick<OutageFigures, 'lost' | 'repeated' | 'seconds95' | 'secondsAll'> {
  const firstAt = new Map(accepted.toReversed().map(({ id, at }) => [id, at]));
  const late = [...firstAt.values()]
    .map((at) => Math.max(0, at - until) / SECOND)
    .toSorted((one, other) => one - other);
  return {
    lost: total - firstAt.size,
    repeated: accepted.length - firstAt.size,
    seconds95: late[Math.ceil(0.95 * total) - 1] ?? Infinity,
    secondsAll: late.at(-1) ?? Infinity,
  };
}

function failureOf(method: string, fails: OutagePlan['fails']): Failure {
  const afterMs = fails === 'error' ? ERROR_MS : TIMEOUT_MS;
  return method === 'schedule' ? { afterMs, answer: 'refused' } : { afterMs };
}

async function play(world: StormWorld, plan: OutagePlan, until: number): Promise<void> {
  const { time } = world;
  const data = plan.service === 'S3' ? LARGE_DATA : '{}';
  const publish = (queue: string, count: number, from: number): void => {
    for (let index = 0; index < count; index += 1)
      time.at(from + (index * PUBLISHED_WITHIN) / count, () => {
        world.publish(aMessage({ id: `${queue}-${index}`, queue, data }));
      });
  };
  const delaySeconds = RETRY_DELAY / SECOND;
  await subscribe(world, 'before', { minimum_delay: delaySeconds, maximum_delay: delaySeconds });
  // A retry after a minute is sent by SQS, a later one by Scheduler.
  const isSent = plan.service === 'sends to the retry queue';
  const needsRetry = isSent || plan.service === 'Scheduler';
  const later = isSent ? 60 : delaySeconds;
  await subscribe(world, needsRetry ? 'queued' : 'accepts', { minimum_delay: later, maximum_delay: later });
  publish('before', plan.retries, START);
  publish(needsRetry ? 'queued' : 'accepts', plan.queued, FROM);
  const end = until + WATCHED;
  for (let at = START + MINUTE; at < end; at += MINUTE) time.at(at, world.reconcile);
  if ((await time.runOut(end)) === 'endless') throw new Error(`The ${plan.service} outage was not over.`);
}

async function subscribe(
  { subscriptions, secrets }: StormWorld,
  queue: string,
  delays: { minimum_delay: number; maximum_delay: number },
): Promise<void> {
  const subscription = aSubscription({ queue, subscriber: `https://subscriber.example/${queue}` });
  const owner = { queue, subscriptionId: subscription.id };
  const sealed = await secrets.seal(
    owner,
    makeSecret('v1', (count) => Buffer.alloc(count, 1)),
  );
  await subscriptions.putQueue(
    aQueue({ name: queue, retryPolicy: aBarePolicy({ minimum_delay_retries: 1, ...delays }) }),
  );
  await addSubscription(subscriptions, { ...subscription, secrets: [{ sealed }] });
}

const MAX_RECEIVES = 35;
const GOALS = { seconds95: 10 * 60, secondsAll: 15 * 60 };

/** What an outage must not do. */
export function faultsIn(all: readonly OutageFigures[]): string[] {
  return all.flatMap((one) => {
    const name = `${one.service}, ${one.fails}`;
    return [
      ...(one.deadLetters === 0 ? [] : [`${name}: ${one.deadLetters} dead letters.`]),
      ...(one.lost === 0 ? [] : [`${name}: ${one.lost} messages were not delivered.`]),
      ...((one.mostReceives ?? 0) <= MAX_RECEIVES
        ? []
        : [`${name}: a message was received ${one.mostReceives} times.`]),
      ...(one.seconds95 <= GOALS.seconds95 ? [] : [`${name}: 95 % after ${one.seconds95} s.`]),
      ...(one.secondsAll <= GOALS.secondsAll ? [] : [`${name}: all after ${one.secondsAll} s.`]),
    ];
  });
}
