import type { DeliveryJob, WakeUp } from '../../../shared/domain/delivery-job.ts';
import type { Delivery } from '../../../shared/domain/delivery.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry-policy.ts';
import { deliver } from '../../../shared/pipeline/deliver.ts';
import type { DeliverContext } from '../../../shared/pipeline/deliver-context.ts';
import { dispatch, type DispatchContext, type IngressReading } from '../../../shared/pipeline/dispatch.ts';
import { reconcile, type Reconciliation } from '../../../shared/pipeline/reconcile.ts';
import type { DeliveryQueue } from '../../../shared/ports/delivery-queue.ts';
import type { WakeUps } from '../../../shared/ports/wake-ups.ts';
import { inMemoryDeliveries } from './in-memory-deliveries.ts';
import { inMemoryJournal } from './in-memory-journal.ts';
import { inMemoryDeadLetters, inMemoryUndeliverables } from './in-memory-letters.ts';
import { inMemoryMessageRecords } from './in-memory-message-records.ts';
import { inMemoryPayloads } from './in-memory-payloads.ts';
import { inMemoryQueue, type QueuedMessage } from './in-memory-queue.ts';
import { inMemorySubscriptions } from './in-memory-subscriptions.ts';
import { scriptedSubscriber } from './scripted-subscriber.ts';
import { virtualClock } from './virtual-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export type SetSchedule = { name: string; at: number; wakeUp: WakeUp };

/** The real steps on in-memory ports and virtual time, wired as the deployed functions are. */
export const pipelineWorld = () => {
  const clock = virtualClock();
  const journal = inMemoryJournal();
  const schedules: SetSchedule[] = [];
  const ports = {
    clock,
    journal,
    deliveries: inMemoryDeliveries(),
    messageRecords: inMemoryMessageRecords(),
    payloads: inMemoryPayloads(),
    subscriptions: inMemorySubscriptions(clock),
    subscriber: scriptedSubscriber(clock),
    undeliverables: inMemoryUndeliverables(),
    deadLetters: inMemoryDeadLetters(),
  };
  const settings = {
    attemptTimeoutMs: 15_000,
    schedulerThresholdSeconds: 90,
    retentionMs: 30 * DAY_MS,
    retryAfterCapMs: 3_600_000,
    defaultRetryPolicy: DEFAULT_RETRY_POLICY,
    userAgent: 'Posthaste/test',
    retainMessages: 'failed' as 'failed' | 'all',
    overdueAfterMs: 30_000,
    /** What an invocation has left when it starts, in milliseconds. */
    invocationMs: 30_000,
  };

  let receives = 0;
  const consume = async ({ id, value, receiveCount }: QueuedMessage<DeliveryJob | WakeUp>): Promise<void> => {
    receives += 1;
    const endsAt = clock.now() + settings.invocationMs;
    const owner = `receive-${receives}`;
    const remainingMs = () => endsAt - clock.now();
    await deliver(deliverContext, value, {
      id,
      text: JSON.stringify(value),
      receiveCount,
      owner,
      remainingMs,
    });
  };
  const deliveryJobs = inMemoryQueue(clock, consume);
  const retryQueue = inMemoryQueue(clock, consume);

  const deliveryQueue: DeliveryQueue = {
    send: (jobs, delaySeconds) => {
      for (const job of jobs) deliveryJobs.send(job, delaySeconds);
      return Promise.resolve();
    },
  };
  const wakeUps: WakeUps = {
    sendDelayed: (wakeUp, delaySeconds) => {
      retryQueue.send(wakeUp, delaySeconds);
      return Promise.resolve();
    },
    schedule: (name, at, wakeUp) => {
      if (schedules.some((other) => other.name === name)) return Promise.resolve('scheduled');
      schedules.push({ name, at, wakeUp });
      clock.at(at, () => {
        retryQueue.send(wakeUp);
      });
      return Promise.resolve('scheduled');
    },
  };

  const deliverContext: DeliverContext = { ports: { ...ports, deliveryQueue, wakeUps }, settings };
  const dispatchContext: DispatchContext = { ports: { ...ports, deliveryQueue }, settings };

  return {
    ...ports,
    settings,
    schedules,
    deliveryJobs,
    retryQueue,
    deliverContext,
    dispatchContext,
    wakeUps,
    /** Dispatches what was read from an ingress message. */
    dispatch: (reading: IngressReading, body = '{}') =>
      dispatch(dispatchContext, reading, { id: 'ingress-1', body, attributes: {} }),
    reconcile: (): Promise<Reconciliation> =>
      reconcile({ ports: { ...ports, wakeUps }, settings }, () => settings.invocationMs),
    delivery: async (subscriptionId = 'subscription-1', messageId = 'message-1'): Promise<Delivery> => {
      const found = await ports.deliveries.find({ queue: 'orders', messageId, subscriptionId, bucket: 0 });
      if (found === undefined)
        throw new Error(`no delivery of ${messageId} to ${subscriptionId} is on record`);
      return found;
    },
  };
};

export type PipelineWorld = ReturnType<typeof pipelineWorld>;
