import type { DeliverContext, DeliverPorts } from '../../functions/deliver/context.ts';
import { deliver } from '../../functions/deliver/deliver.ts';
import { healthWrites } from '../../functions/deliver/health.ts';
import { memoryBudget } from '../../functions/deliver/memory-budget.ts';
import { pendingCounts } from '../../functions/deliver/pressure.ts';
import { dispatch } from '../../functions/dispatch/dispatch.ts';
import { reconcile } from '../../functions/reconcile/reconcile.ts';
import { groupOf, type FirstJob, type WakeUp } from '../../shared/domain/delivery/job.ts';
import { visibilityTimeout } from '../../shared/domain/receives.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { hashVersion } from '../../shared/domain/message/version.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import { seededChance } from '../../test/support/chance.ts';
import { operatingQueue, pipelineWorld } from '../../test/support/in-memory/pipeline-world.ts';
import { virtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import type { SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';
import { modelledSqs, sideBySide, type Receipt } from '../../test/support/modelled-sqs.ts';
import { schedulerBehindClients } from './scheduler.ts';

/** A request as its subscriber saw it. Milliseconds since the epoch. */
export type Request = { id: string; at: number; answeredAt: number; statusCode: number };

/** How the subscriber at an address answers a request at a time. */
type Manner = (now: number, url: string, id: string) => { statusCode: number; takesMs: number };

type Work = FirstJob | WakeUp;

export type Concurrency = Record<'dispatch' | 'deliver' | 'retry', number>;

/** The defaults of infra/deployment-settings.ts. */
export const CONCURRENCY = { dispatch: 50, deliver: 100, retry: 50 } as const satisfies Concurrency;

/**
 * Requests of CreateSchedule a second in the regions with the highest quota, and invocations of targets
 * (https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html).
 */
export const LARGE_REGION = { createPerSecond: 5_000, invokePerSecond: 1_000 };

/** Batches at first (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html). */
const FIRST_CONCURRENCY = 5;

/** The time of each call of AWS. */
const CALL_MS = 10;

/** The timeout of reconcile (infra/constructs/functions/pipeline-functions.ts). */
const RECONCILE_MS = 60_000;

/** Three hours of an outage with 11,000 messages have a few million. */
const MAX_CALLBACKS = 50_000_000;

export const START = Date.UTC(2026, 0, 1);

/** Replaces ports with defective ones in a test of the bench. */
export type Sabotage = (ports: DeliverPorts) => Partial<DeliverPorts>;

/** How a call fails: after so many milliseconds, with an error, or with the answer that its adapter makes of one. */
export type Failure = { afterMs: number; answer?: unknown };

/** Whether a call fails now. `scheduler.fire`: the wake-up that a schedule sends is lost. */
export type Failing = (port: string, method: string) => Failure | undefined;

type StormOptions = {
  quotas: SchedulerQuotas;
  manner: Manner;
  /** @default CONCURRENCY */
  concurrency?: Concurrency;
  /** Whether messages carry groups, as those of the API and of the functions do. @default true */
  isFair?: boolean;
  sabotage?: Sabotage;
  /** @default no call fails */
  failing?: Failing;
};

export type StormWorld = ReturnType<typeof stormWorld>;

/**
 * The real steps behind modelled queues with their mappings. Each environment has a client of EventBridge Scheduler, which
 * throttles. Records are in memory, time is virtual, and each call of AWS takes ten milliseconds.
 */
export function stormWorld({
  quotas,
  manner,
  concurrency = CONCURRENCY,
  isFair = true,
  sabotage = () => ({}),
  failing = () => undefined,
}: StormOptions) {
  const time = virtualClock(START, MAX_CALLBACKS);
  const { deliverContext, dispatchContext, byHandContext, settings, ...twins } = pipelineWorld(time);
  const subscriber = recordingSubscriber(time, manner);
  /** Of the retry queue's mapping. */
  const retryInvocations: { startedAt: number; endedAt: number }[] = [];
  let [hops, calls, mostReceives] = [0, 0, 0];
  const chance = seededChance(1);
  const slow = <Ports extends object>(ports: Ports): Ports =>
    slowed(ports, time, (port, method) => {
      calls += 1;
      return failing(port, method);
    });

  const scheduler = schedulerBehindClients(time, quotas, (wakeUp) => {
    if (failing('scheduler', 'fire') === undefined) retries.send(wakeUp);
  });
  const deliveryQueue = {
    send: (jobs: readonly FirstJob[], delaySeconds?: number) => {
      for (const job of jobs) firstAttempts.send(job, delaySeconds);
      return Promise.resolve();
    },
  };
  const sendDelayed = (wakeUp: WakeUp, delaySeconds: number) => {
    hops += 1;
    retries.send(wakeUp, delaySeconds);
    return Promise.resolve();
  };

  const operateWakeUps = { sendDelayed, unschedule: scheduler.remove };
  const operateStores = { ...byHandContext.ports, registry: twins.subscriptions, wakeUps: operateWakeUps };
  const operations = operatingQueue(time, { ports: slow(operateStores), settings });

  const environment = (): DeliverContext => {
    const wakeUps = { sendDelayed, ...scheduler.client() };
    const { journal, ...stores } = deliverContext.ports;
    const ports = {
      ...slow({ ...stores, deliveryQueue, wakeUps, operations }),
      clock: time,
      journal,
      subscriber,
    };
    return {
      ports: { ...ports, ...sabotage(ports) },
      settings,
      healthWrites: healthWrites(time),
      pendingCounts: pendingCounts(),
      memory: memoryBudget(time),
    };
  };

  const queue = <T>(
    name: string,
    { most, groupOf }: { most: number; groupOf: (value: T) => string },
    handle: (receipt: Receipt<T>, environment: number) => Promise<void>,
    ended: (startedAt: number) => void = () => undefined,
  ) =>
    modelledSqs<T>({
      name,
      faults: { jitter: () => chance.next() },
      timeline: time,
      visibilityMs: () => 1000 * visibilityTimeout(settings.invocationMs / 1000),
      scaling: { first: Math.min(FIRST_CONCURRENCY, most), most },
      ...(isFair && { groupOf }),
      consume: async (batch, environment) => {
        const startedAt = time.now();
        await sideBySide(handle)(batch, environment);
        ended(startedAt);
      },
    });

  let receives = 0;
  const counted = (receiveCount: number): void => {
    receives += 1;
    mostReceives = Math.max(mostReceives, receiveCount);
  };
  const delivering = (most: number) => {
    const environments = Array.from({ length: most }, environment);
    return async ({ id, value, receiveCount }: Receipt<Work>, number: number): Promise<void> => {
      counted(receiveCount);
      const endsAt = time.now() + settings.invocationMs;
      const owner = `receive-${receives}`;
      const received = { id, text: '{}', receiveCount, owner, remainingMs: () => endsAt - time.now() };
      await deliver(environments[number] ?? environment(), value, received);
    };
  };
  const firstAttempts = queue<Work>(
    'delivery',
    { most: concurrency.deliver, groupOf },
    delivering(concurrency.deliver),
  );
  const retries = queue<Work>(
    'retry',
    { most: concurrency.retry, groupOf },
    delivering(concurrency.retry),
    (startedAt) => {
      retryInvocations.push({ startedAt, endedAt: time.now() });
    },
  );

  const { journal, validateEvent, ...dispatchStores } = dispatchContext.ports;
  const dispatching = {
    settings,
    hasTime: dispatchContext.hasTime,
    ports: { ...slow({ ...dispatchStores, deliveryQueue }), clock: time, journal, validateEvent },
  };
  const ingress = queue<{ message: Message; sentAt: number }>(
    'ingress',
    { most: concurrency.dispatch, groupOf: ({ message }) => message.queue },
    ({ id, value: { message, sentAt }, receiveCount }) => {
      counted(receiveCount);
      return dispatch(
        dispatching,
        { ok: true, message, version: hashVersion(message) },
        { sqsMessageId: id, body: '{}', attributes: {}, sentAt },
      );
    },
  );

  const watchman = environment();
  return {
    time,
    scheduler,
    requests: subscriber.requests,
    retryInvocations,
    subscriptions: twins.subscriptions,
    deliveries: twins.deliveries,
    operations,
    journal: twins.journal,
    secrets: twins.secretOpener,
    /** The most receives of any message so far, and the messages that SQS gave up. */
    mostReceives: () => mostReceives,
    deadLetters: () => [ingress, firstAttempts, retries].reduce((sum, one) => sum + one.deadLetters, 0),
    publish: (message: Message) => {
      ingress.send({ message, sentAt: time.now() });
    },
    /** Wake-ups sent by SQS so far. */
    hops: () => hops,
    /** Calls of AWS so far, including reads that a cache would save. */
    calls: () => calls,
    /** As the rule calls it each minute. */
    reconcile: () => {
      const endsAt = time.now() + RECONCILE_MS;
      // A run that fails is over: the rule calls the next.
      reconcile({ ports: watchman.ports, settings }, () => endsAt - time.now()).catch(() => undefined);
    },
  };
}

/** The same ports, with a delay of `CALL_MS` before each call. `called` says whether it fails. */
function slowed<Ports extends object>(ports: Ports, clock: Pick<Clock, 'sleep'>, called: Failing): Ports {
  const slow = (name: string, port: object): object =>
    new Proxy(port, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          const failure = called(name, String(property));
          await clock.sleep(failure?.afterMs ?? CALL_MS);
          if (failure === undefined) return await Reflect.apply(method, target, args);
          if ('answer' in failure) return failure.answer;
          throw new Error(`${name}.${String(property)} failed`);
        };
      },
    });
  return Object.fromEntries(
    Object.entries(ports).map(([name, port]: [string, object]) => [name, slow(name, port)]),
  ) as Ports;
}

/** `requests`: in the order of arrival. */
function recordingSubscriber(
  clock: Clock,
  manner: Manner,
): Subscriber & { readonly requests: readonly Request[] } {
  const requests: Request[] = [];
  return {
    requests,
    post: async ({ url, headers }) => {
      const at = clock.now();
      const id = headers['webhook-id'] ?? '';
      const { statusCode, takesMs } = manner(at, url, id);
      requests.push({ id, at, answeredAt: at + takesMs, statusCode });
      await clock.sleep(takesMs);
      return { kind: 'answered', statusCode };
    },
  };
}
