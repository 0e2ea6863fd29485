import type { DeliverContext, DeliverPorts } from '../../functions/deliver/context.ts';
import { deliver } from '../../functions/deliver/deliver.ts';
import { healthNotes } from '../../functions/deliver/health.ts';
import { memoryBudget } from '../../functions/deliver/memory-budget.ts';
import { dispatch } from '../../functions/dispatch/dispatch.ts';
import { reconcile } from '../../functions/reconcile/reconcile.ts';
import type { FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { visibilityTimeout } from '../../shared/domain/receives.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { versionOf } from '../../shared/domain/message/version.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import { pipelineWorld } from '../../test/support/in-memory/pipeline-world.ts';
import { virtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import type { SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';
import { modelledSqs, sideBySide, type Receipt } from '../../test/support/modelled-sqs.ts';
import type { Request } from './figures.ts';
import { schedulerBehindClients } from './scheduler.ts';

/** What a subscriber does with a request that comes now. */
type Manner = (now: number) => { statusCode: number; takesMs: number };

type RecordingSubscriber = Subscriber & {
  /** In the order of arrival. */
  readonly requests: readonly Request[];
};

type Work = FirstJob | WakeUp;

/** The defaults of infra/deployment-settings.ts. */
export const CONCURRENCY = { dispatch: 50, deliver: 100, retry: 50 } as const;

/** Batches at first (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html). */
const FIRST_CONCURRENCY = 5;

/** What a call of AWS takes. The same for all: runs of one model are compared. */
const CALL_MS = 10;

/** What a run of reconcile has, in milliseconds (infra/constructs/functions/reconcile-function.ts). */
const RECONCILE_MS = 60_000;

export const START = Date.UTC(2026, 0, 1);

/** What a test puts in the place of right ports, to see that it is found out. */
export type Sabotage = (ports: DeliverPorts) => Partial<DeliverPorts>;

type StormOptions = {
  quotas: SchedulerQuotas;
  manner: Manner;
  sabotage?: Sabotage;
};

export type StormWorld = ReturnType<typeof stormWorld>;

/**
 * The real steps, fed as they are deployed: by queues with their mappings, in environments that have a client of EventBridge
 * Scheduler each, which throttles. Records are in memory, time is virtual, and a call of AWS takes ten milliseconds of it.
 */
export function stormWorld({ quotas, manner, sabotage = () => ({}) }: StormOptions) {
  const time = virtualClock(START);
  const { deliverContext, dispatchContext, settings, ...twins } = pipelineWorld(time);
  const subscriber = recordingSubscriber(time, manner);
  /** When invocations of the retry queue's mapping began and ended. */
  const retryInvocations: { startedAt: number; endedAt: number }[] = [];
  let hops = 0;

  const scheduler = schedulerBehindClients(time, quotas, (wakeUp) => {
    retries.send(wakeUp);
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

  const environment = (): DeliverContext => {
    const wakeUps = { sendDelayed, ...scheduler.client() };
    const { journal, ...stores } = deliverContext.ports;
    const slow = slowed({ ...stores, deliveryQueue, wakeUps }, time);
    const ports = { ...slow, clock: time, journal, subscriber };
    return {
      ports: { ...ports, ...sabotage(ports) },
      settings,
      healthNotes: healthNotes(time),
      memory: memoryBudget(time),
    };
  };

  const queue = <T>(
    name: string,
    concurrency: number,
    handle: (receipt: Receipt<T>, environment: number) => Promise<void>,
    ended: (startedAt: number) => void = () => undefined,
  ) =>
    modelledSqs<T>({
      name,
      timeline: time,
      visibilityMs: () => 1000 * visibilityTimeout(settings.invocationMs / 1000),
      scaling: { first: FIRST_CONCURRENCY, most: concurrency },
      consume: async (batch, environment) => {
        const startedAt = time.now();
        await sideBySide(handle)(batch, environment);
        ended(startedAt);
      },
    });

  let receives = 0;
  const delivering = (concurrency: number) => {
    const environments = Array.from({ length: concurrency }, environment);
    return async ({ id, value, receiveCount }: Receipt<Work>, number: number): Promise<void> => {
      receives += 1;
      const endsAt = time.now() + settings.invocationMs;
      const owner = `receive-${receives}`;
      const received = { id, text: '{}', receiveCount, owner, remainingMs: () => endsAt - time.now() };
      await deliver(environments[number] ?? environment(), value, received);
    };
  };
  const firstAttempts = queue<Work>('delivery', CONCURRENCY.deliver, delivering(CONCURRENCY.deliver));
  const retries = queue<Work>('retry', CONCURRENCY.retry, delivering(CONCURRENCY.retry), (startedAt) => {
    retryInvocations.push({ startedAt, endedAt: time.now() });
  });

  const { journal, ...dispatchStores } = dispatchContext.ports;
  const dispatching = {
    settings,
    hasTime: dispatchContext.hasTime,
    ports: { ...slowed({ ...dispatchStores, deliveryQueue }, time), clock: time, journal },
  };
  const ingress = queue<{ message: Message; sentAt: number }>(
    'ingress',
    CONCURRENCY.dispatch,
    ({ id, value: { message, sentAt } }) =>
      dispatch(
        dispatching,
        { ok: true, message, version: versionOf(message) },
        { sqsMessageId: id, body: '{}', attributes: {}, sentAt },
      ),
  );

  const watchman = environment();
  return {
    time,
    scheduler,
    requests: subscriber.requests,
    retryInvocations,
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
      void reconcile({ ports: watchman.ports, settings }, () => endsAt - time.now());
    },
  };
}

/** The same ports, of which every call takes as long as one of AWS before anything happens. */
function slowed<Ports extends object>(ports: Ports, clock: Pick<Clock, 'sleep'>): Ports {
  const slow = (port: object): object =>
    new Proxy(port, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          await clock.sleep(CALL_MS);
          return await Reflect.apply(method, target, args);
        };
      },
    });
  return Object.fromEntries(
    Object.entries(ports).map(([name, port]: [string, object]) => [name, slow(port)]),
  ) as Ports;
}

function recordingSubscriber(clock: Clock, manner: Manner): RecordingSubscriber {
  const requests: Request[] = [];
  return {
    requests,
    post: async ({ headers }) => {
      const at = clock.now();
      const { statusCode, takesMs } = manner(at);
      requests.push({ id: headers['webhook-id'] ?? '', at, answeredAt: at + takesMs, statusCode });
      await clock.sleep(takesMs);
      return { kind: 'answered', statusCode };
    },
  };
}
