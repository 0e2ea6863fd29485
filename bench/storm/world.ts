import type { DeliverContext, DeliverPorts } from '../../functions/deliver/context.ts';
import { deliver } from '../../functions/deliver/deliver.ts';
import { healthNotes } from '../../functions/deliver/health.ts';
import { dispatch } from '../../functions/dispatch/dispatch.ts';
import { reconcile } from '../../functions/reconcile/reconcile.ts';
import { schedulerWakeUps } from '../../shared/adapters/scheduler/wake-ups.ts';
import type { FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { versionOf } from '../../shared/domain/message/version.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import { seededChance } from '../../test/support/chance.ts';
import { pipelineWorld } from '../../test/support/in-memory/pipeline-world.ts';
import { virtualClock, type VirtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import type { Request } from './figures.ts';
import { fedQueue, type Receipt } from './queue.ts';
import { type SchedulerQuotas, simulatedScheduler } from './scheduler.ts';

/** Something still happened after the time by which a storm has to be over. */
class EndlessStormError extends Error {
  override readonly name = 'EndlessStormError';

  constructor(limit: number) {
    super(`Something still happened after ${new Date(limit).toISOString()}, or far too much did.`);
  }
}

/** Its `run` throws EndlessStormError. */
const heapClock = (time: VirtualClock): VirtualClock => ({
  ...time,
  run: async (limit = Number.POSITIVE_INFINITY) => {
    if ((await time.runOut(limit)) === 'endless') throw new EndlessStormError(limit);
  },
});

type Wait = () => Promise<void>;

/** The same port, whose every call takes as long as `wait` before anything happens. */
const taking = <Port extends object>(port: Port, wait: Wait): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]): Promise<unknown> => {
        await wait();
        return await Reflect.apply(method, target, args);
      };
    },
  });

/** All of them such ports. */
const allTaking = <Ports extends object>(ports: Ports, wait: Wait): Ports =>
  new Proxy(ports, {
    get: (target, name) => {
      const port: unknown = Reflect.get(target, name);
      return typeof port === 'object' && port !== null ? taking(port, wait) : port;
    },
  });

/** What a subscriber does with a request that comes now. */
type Manner = (now: number) => { statusCode: number; takesMs: number };

type Subscribers = Subscriber & {
  /** In the order of arrival. */
  requestsAt: (url: string) => readonly Request[];
};

/** Everybody who subscribed, by address. */
const subscribersOf = (clock: Clock, manners: Readonly<Record<string, Manner>>): Subscribers => {
  const requests = new Map<string, Request[]>();
  return {
    requestsAt: (url) => requests.get(url) ?? [],
    post: async ({ url, headers }) => {
      const manner = manners[url];
      if (manner === undefined) throw new RangeError(`Nobody is at ${url}.`);
      const { statusCode, takesMs } = manner(clock.now());
      const all = requests.get(url) ?? [];
      all.push({
        id: headers['webhook-id'] ?? '',
        at: clock.now(),
        answeredAt: clock.now() + takesMs,
        statusCode,
      });
      requests.set(url, all);
      await clock.sleep(takesMs);
      return { kind: 'answered', statusCode };
    },
  };
};

type Work = FirstJob | WakeUp;

/** The defaults of infra/deployment-settings.ts. */
export const CONCURRENCY = { dispatch: 50, deliver: 100, retry: 50 } as const;

/** What a call of AWS takes. The same for all: runs of one model are compared. */
const CALL_MS = 10;

export const START = Date.UTC(2026, 0, 1);

const SCHEDULES = {
  group: 'retries',
  roleArn: 'arn:aws:iam::000000000000:role/schedules',
  retryQueueArn: 'arn:aws:sqs:us-east-1:000000000000:retry',
  deadLetterArn: 'arn:aws:sqs:us-east-1:000000000000:schedule-dead-letters',
};

/** What a test puts in the place of right ports, to see that it is found out. */
export type Sabotage = (ports: DeliverPorts) => Partial<DeliverPorts>;

type StormOptions = {
  quotas: SchedulerQuotas;
  /** By address. */
  manners: Readonly<Record<string, Manner>>;
  sabotage?: Sabotage;
};

/**
 * The real steps, fed as they are deployed: by queues with their mappings, in environments that have a client of EventBridge
 * Scheduler each, which throttles. Records are in memory, time is virtual, and a call of AWS takes ten milliseconds of it.
 */
export const stormWorld = ({ quotas, manners, sabotage = () => ({}) }: StormOptions) => {
  const time = virtualClock(START);
  const clock = heapClock(time);
  const { deliverContext, dispatchContext, ...twins } = pipelineWorld(clock);
  const { settings } = deliverContext;
  const subscribers = subscribersOf(clock, manners);
  const callMs = (): Promise<void> => clock.sleep(CALL_MS);
  let hops = 0;

  const scheduler = simulatedScheduler({
    time,
    clock,
    chance: seededChance(1),
    quotas,
    fire: (wakeUp) => {
      retries.send(wakeUp);
    },
  });
  const queues = {
    deliveryQueue: {
      send: (jobs: readonly FirstJob[], delaySeconds?: number) => {
        for (const job of jobs) firstAttempts.send(structuredClone(job), delaySeconds);
        return Promise.resolve();
      },
    },
    retryQueue: {
      sendDelayed: (wakeUp: WakeUp, delaySeconds: number) => {
        hops += 1;
        retries.send(structuredClone(wakeUp), delaySeconds);
        return Promise.resolve();
      },
    },
  };

  const environment = (): DeliverContext => {
    const wakeUps = { ...queues.retryQueue, ...schedulerWakeUps(scheduler.client(), SCHEDULES) };
    const { deliveryQueue } = queues;
    const { journal, ...stores } = deliverContext.ports;
    const slow = { ...allTaking({ ...stores, deliveryQueue, wakeUps }, callMs) };
    const ports = { ...slow, clock, journal, subscriber: subscribers };
    return { ports: { ...ports, ...sabotage(ports) }, settings, healthNotes: healthNotes(clock) };
  };

  let receives = 0;
  const deliverIn = (context: DeliverContext) => {
    const endsAt = time.now() + twins.settings.invocationMs;
    return async ({ id, value, receiveCount }: Receipt<Work>): Promise<void> => {
      receives += 1;
      const owner = `receive-${receives}`;
      const received = { id, text: '{}', receiveCount, owner, remainingMs: () => endsAt - time.now() };
      await deliver(context, value, received);
    };
  };

  const mapping = (name: string, concurrency: number) => {
    const environments = Array.from({ length: concurrency }, environment);
    return fedQueue<Work>({
      name,
      time,
      concurrency,
      start: (index) => deliverIn(environments[index] ?? environment()),
    });
  };
  const firstAttempts = mapping('delivery', CONCURRENCY.deliver);
  const retries = mapping('retry', CONCURRENCY.retry);

  const watchman = environment();
  const dispatching = {
    ...dispatchContext,
    ports: {
      ...allTaking({ ...dispatchContext.ports, deliveryQueue: queues.deliveryQueue }, callMs),
      clock,
      journal: dispatchContext.ports.journal,
    },
  };
  const ingress = fedQueue<{ message: Message; sentAt: number }>({
    name: 'ingress',
    time,
    concurrency: CONCURRENCY.dispatch,
    start:
      () =>
      ({ id, value: { message, sentAt } }) =>
        dispatch(
          dispatching,
          { ok: true, message, version: versionOf(message) },
          { id, body: '{}', attributes: {}, sentAt },
        ),
  });

  return {
    time,
    clock,
    scheduler,
    subscribers,
    queues: { ingress, firstAttempts, retries },
    subscriptions: twins.subscriptions,
    deliveries: twins.deliveries,
    journal: twins.journal,
    publish: (message: Message) => {
      ingress.send({ message, sentAt: time.now() });
    },
    /** Wake-ups sent by SQS so far. */
    hops: () => hops,
    /** As the rule calls it each minute. What it leaves undone the next run finds. */
    reconcile: () => {
      const endsAt = time.now() + RECONCILE_MS;
      void reconcile({ ports: watchman.ports, settings: twins.settings }, () => endsAt - time.now());
    },
  };
};

/** What a run of reconcile has, in milliseconds (infra/constructs/functions/reconcile-function.ts). */
const RECONCILE_MS = 60_000;

export type StormWorld = ReturnType<typeof stormWorld>;
