import { lazyValidation } from '../../../shared/adapters/pattern/lazy-validation.ts';
import type { EventValidation, RetainedMessages } from '../../../shared/domain/subscription/vocabulary.ts';
import { inMemoryEventTypes } from './in-memory-event-types.ts';
import { type DeliverContext, ownerFor } from '../../../functions/deliver/context.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import { healthWrites } from '../../../functions/deliver/health.ts';
import { memoryBudget } from '../../../functions/deliver/memory-budget.ts';
import { pendingCounts } from '../../../functions/deliver/pressure.ts';
import { dispatch, type IngressResult } from '../../../functions/dispatch/dispatch.ts';
import type { DispatchContext } from '../../../functions/dispatch/pages.ts';
import type { OperateContext } from '../../../functions/operate/context.ts';
import { operate } from '../../../functions/operate/operate.ts';
import { reconcile, type Reconciliation } from '../../../functions/reconcile/reconcile.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import { render } from '../../../shared/domain/message/payload.ts';
import { hashVersion } from '../../../shared/domain/message/version.ts';
import { visibilityTimeout } from '../../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS, type Operation } from '../../../shared/domain/recovery/operation.ts';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import { modelledSqs, type ModelledSqs, type Receipt, sideBySide } from '../modelled-sqs.ts';
import { inMemoryChunks, inMemoryDeliveries, inMemoryDeliveryListings } from './in-memory-deliveries.ts';
import { inMemoryJournal, inMemoryOperatorEvents } from './in-memory-journal.ts';
import { inMemoryMessageRecords, inMemoryPayloads } from './in-memory-messages.ts';
import { inMemoryCountingWindows, inMemoryRateLimits } from './in-memory-pace.ts';
import {
  inMemoryDeadLetters,
  inMemoryDeliveryQueue,
  inMemoryUndeliverables,
  inMemoryWakeUps,
} from './in-memory-queues.ts';
import { inMemoryRecoveries } from './in-memory-recoveries.ts';
import { inMemoryAccessTokens, inMemorySecrets } from './in-memory-secrets.ts';
import { inMemorySubscriptions } from './in-memory-subscriptions.ts';
import { scriptedSubscriber } from './scripted-subscriber.ts';
import { virtualClock, type VirtualClock } from './virtual-clock.ts';
import { chunkedDeliveries } from '../../../functions/api/deliveries/chunked-deliveries.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Readable = Extract<IngressResult, { ok: true }>;

/** A parsed ingress message. Without a version it counts as fully specified by its producer. */
type Published =
  | Exclude<IngressResult, Readable>
  | (Omit<Readable, 'version'> & Partial<Pick<Readable, 'version'>>);

const withVersion = (reading: Published): IngressResult => {
  if (!reading.ok) return reading;
  const { type, timestamp, expiresAt: ttl, data } = reading.message;
  return { version: hashVersion({ type, timestamp, ttl, delay: reading.delaySeconds, data }), ...reading };
};

/** The real steps on in-memory ports and virtual time, wired like the deployed functions. */
export const pipelineWorld = (clock = virtualClock()) => {
  const journal = inMemoryJournal();
  const deliveries = inMemoryDeliveries();
  const messageRecords = inMemoryMessageRecords();
  const ports = {
    clock,
    journal,
    deliveries,
    chunks: inMemoryChunks(deliveries, messageRecords),
    messageRecords,
    payloads: inMemoryPayloads(),
    subscriptions: inMemorySubscriptions(clock, () => settings.pageSize),
    rateLimits: inMemoryRateLimits(clock),
    countingWindows: inMemoryCountingWindows(),
    render,
    subscriber: scriptedSubscriber(clock),
    accessTokens: inMemoryAccessTokens(clock),
    secretOpener: inMemorySecrets(),
    undeliverables: inMemoryUndeliverables(),
    deadLetters: inMemoryDeadLetters(),
    eventTypes: inMemoryEventTypes(),
    validateEvent: lazyValidation(),
    operatorEvents: inMemoryOperatorEvents(),
  };
  const settings = {
    attemptTimeoutMs: 15_000,
    schedulerThresholdSeconds: 90,
    retentionMs: 30 * DAY_MS,
    retryAfterCapMs: 3_600_000,
    defaultRetryPolicy: DEFAULT_RETRY_POLICY,
    userAgent: 'Posthaste/test',
    leavesArchives: true,
    adaptToThrottling: false,
    holdWhileDown: false,
    retryThrottled: false,
    subscriptionCacheMs: 5_000,
    disableFailingAfterMs: 5 * DAY_MS,
    retainMessages: 'failed' as RetainedMessages,
    eventValidation: 'off' as EventValidation,
    firstAttemptsPerJob: 10,
    overdueAfterMs: 30_000,
    /** Number of subscriptions in one page of a queue's list. */
    pageSize: 1_400,
    /** Time that an invocation has at its start, in milliseconds. */
    invocationMs: invocationMs(15_000),
  };

  let receives = 0;
  const handle = async ({ id, value, receiveCount }: Receipt<FirstJob | WakeUp>): Promise<void> => {
    receives += 1;
    const endsAt = clock.now() + settings.invocationMs;
    const owner = ownerFor(`receive-${receives}`, id);
    const remainingMs = () => endsAt - clock.now();
    const received = { id, text: JSON.stringify(value), receiveCount, owner, remainingMs };
    await deliver(deliverContext, value, received);
  };
  const queue = <T extends FirstJob | WakeUp>(): ModelledSqs<T> =>
    modelledSqs<T>({
      name: 'message',
      timeline: clock,
      visibilityMs: () => 1000 * visibilityTimeout(settings.invocationMs / 1000),
      batchSize: 1,
      consume: sideBySide(handle),
    });
  const deliveryJobs = queue<FirstJob>();
  const retryQueue = queue<WakeUp>();

  const deliveryQueue = inMemoryDeliveryQueue(deliveryJobs);
  const wakeUps = inMemoryWakeUps(clock, retryQueue);

  const anyDeliveries = chunkedDeliveries(ports);
  const deliveryListings = inMemoryDeliveryListings(ports.deliveries, ports.chunks);
  const byHandContext = {
    ports: { ...ports, deliveries: anyDeliveries, wakeUps, deliveryListings },
    settings,
  };
  const operations = operatingQueue(clock, {
    ports: { ...byHandContext.ports, registry: ports.subscriptions },
    settings,
  });

  const deliverContext: DeliverContext = {
    ports: { ...ports, deliveryQueue, wakeUps, operations },
    settings,
    healthWrites: healthWrites(clock),
    pendingCounts: pendingCounts(),
    memory: memoryBudget(clock),
  };
  const dispatchContext: DispatchContext = {
    ports: { ...ports, deliveryQueue },
    settings,
    hasTime: () => true,
  };

  return {
    ...ports,
    operations,
    settings,
    schedules: wakeUps.schedules,
    deliveryJobs,
    retryQueue,
    deliverContext,
    byHandContext,
    dispatchContext,
    wakeUps,
    /** Dispatches a parsed ingress message. */
    dispatch: (reading: Published, body = '{}', sentAt = clock.now()) =>
      dispatch(dispatchContext, withVersion(reading), {
        sqsMessageId: 'ingress-1',
        body,
        attributes: { tenant: 'tenant-1' },
        sentAt,
      }),
    runFor: (milliseconds: number): Promise<void> => clock.run(clock.now() + milliseconds),
    /** The noted facts of this name. */
    facts: <Name extends Fact['fact']>(name: Name) =>
      journal.facts.filter((fact): fact is Extract<Fact, { fact: Name }> => fact.fact === name),
    reconcile: (): Promise<Reconciliation> =>
      reconcile({ ports: { ...ports, wakeUps }, settings }, () => settings.invocationMs),
    delivery: async (subscriptionId = 'subscription-1', messageId = 'message-1'): Promise<Delivery> => {
      const message = { queue: 'orders', messageId };
      const record = await ports.messageRecords.find(message);
      const key = record ? deliveryKeyIn(record, subscriptionId) : { ...message, subscriptionId, bucket: 0 };
      const found = await anyDeliveries.find(key);
      if (found === undefined)
        throw new Error(`no delivery of ${messageId} to ${subscriptionId} is on record`);
      return found;
    },
  };
};

export type PipelineWorld = ReturnType<typeof pipelineWorld>;

type Ports = Omit<OperateContext['ports'], 'clock' | 'recoveries' | 'operations'>;

/** The operation queue, and the operate function that receives from it. */
export const operatingQueue = (
  clock: VirtualClock,
  { ports, settings }: { ports: Ports; settings: OperateContext['settings'] },
): Operations => {
  const queue = modelledSqs<Operation>({
    name: 'operation',
    timeline: clock,
    visibilityMs: () => 1000 * visibilityTimeout(OPERATE_TIMEOUT_SECONDS),
    batchSize: 1,
    consume: sideBySide(({ value }) => {
      const endsAt = clock.now() + OPERATE_TIMEOUT_SECONDS * 1000;
      return operate(context, value, () => endsAt - clock.now());
    }),
  });
  const operations: Operations = {
    send: (operation, delaySeconds) => {
      queue.send(operation, delaySeconds);
      return Promise.resolve();
    },
  };
  const context = { ports: { ...ports, clock, recoveries: inMemoryRecoveries(), operations }, settings };
  return operations;
};
