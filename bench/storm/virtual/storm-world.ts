import { schedulerWakeUps } from '../../../shared/adapters/scheduler/wake-ups.ts';
import type { FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { DeliverContext, DeliverPorts } from '../../../functions/deliver/context.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import { dispatch } from '../../../functions/dispatch/dispatch.ts';
import { healthNotes } from '../../../functions/deliver/health.ts';
import { reconcile } from '../../../functions/reconcile/reconcile.ts';
import { seededChance } from '../../../test/simulation/chance.ts';
import { virtualClock } from '../../../test/support/in-memory/virtual-clock.ts';
import { pipelineWorld } from '../../../test/support/in-memory/pipeline-world.ts';
import { fedQueue, type Receipt } from './fed-queue.ts';
import { heapClock } from './heap-clock.ts';
import { simulatedScheduler, type SchedulerQuotas } from './simulated-scheduler.ts';
import { subscribersOf, type Manner } from './subscribers.ts';
import { allTaking } from './taking.ts';

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

export type StormOptions = {
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
        dispatch(dispatching, { ok: true, message }, { id, body: '{}', attributes: {}, sentAt }),
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
