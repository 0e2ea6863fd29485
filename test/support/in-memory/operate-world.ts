import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import { OPERATE_TIMEOUT_SECONDS, type Operation } from '../../../shared/domain/recovery/operation.ts';
import { visibilityTimeout } from '../../../shared/domain/receives.ts';
import {
  newRecovery,
  buildRecoveryId,
  type Recovery,
  type RecoverySelection,
} from '../../../shared/domain/recovery/recovery.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import type { OperateContext } from '../../../functions/operate/context.ts';
import { operate } from '../../../functions/operate/operate.ts';
import { aMessage, aQueue, aSubscription } from '../builders.ts';
import { aDelivery, anAttempt, SOME_TIME, type DeliveryFields } from '../delivery-builders.ts';
import { addSubscription } from '../add-subscription.ts';
import { inMemoryDeliveries, inMemoryDeliveryListings } from './in-memory-deliveries.ts';
import { inMemoryJournal, inMemoryOperatorEvents } from './in-memory-journal.ts';
import { inMemoryMessageRecords, inMemoryPayloads } from './in-memory-messages.ts';
import { inMemoryOperations, type QueuedOperation } from './in-memory-queues.ts';
import { inMemoryRateLimits } from './in-memory-pace.ts';
import { inMemoryRecoveries } from './in-memory-recoveries.ts';
import { inMemorySubscriptions } from './in-memory-subscriptions.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Time that an invocation has at its start, in milliseconds. */
const INVOCATION_MS = OPERATE_TIMEOUT_SECONDS * 1000;

/** Visibility timeout of a message whose invocation crashed, in seconds. */
const VISIBILITY_SECONDS = visibilityTimeout(OPERATE_TIMEOUT_SECONDS);

/** Recoveries are requested a day after the deliveries they select. */
export const REQUESTED_AT = SOME_TIME + DAY_MS;

/** The operate function on in-memory ports, with a queue that redelivers operations whose handling throws. */
export const operateWorld = () => {
  const time = { now: REQUESTED_AT };
  const queued: QueuedOperation[] = [];
  const woken: WakeUp[] = [];
  const unscheduled: string[] = [];
  let recoveryCount = 0;
  const clock = { now: () => time.now };
  const registry = inMemorySubscriptions(clock);
  const deliveries = inMemoryDeliveries();
  const ports = {
    clock,
    registry,
    subscriptions: registry,
    deliveries,
    deliveryListings: inMemoryDeliveryListings(deliveries),
    messageRecords: inMemoryMessageRecords(),
    payloads: inMemoryPayloads(),
    rateLimits: inMemoryRateLimits(clock),
    recoveries: inMemoryRecoveries(),
    operations: inMemoryOperations(queued),
    journal: inMemoryJournal(),
    operatorEvents: inMemoryOperatorEvents(),
    wakeUps: {
      sendDelayed: (wakeUp: WakeUp) => {
        woken.push(wakeUp);
        return Promise.resolve();
      },
      unschedule: (name: string) => {
        unscheduled.push(name);
        return Promise.resolve('removed' as const);
      },
    },
  };
  const settings = { retentionMs: 30 * DAY_MS, retryAfterCapMs: 3_600_000 };

  const put = async (delivery: Delivery): Promise<Delivery> => {
    await deliveries.write({ name: 'open', key: delivery.key, expect: { kind: 'absent' }, create: delivery });
    return delivery;
  };

  /** Stores a queue, a subscription, a message with its body, and its delivery. */
  const keep = async (delivery: Delivery): Promise<Delivery> => {
    const { queue, messageId, subscriptionId } = delivery.key;
    await registry.ensureQueue(aQueue({ name: queue }));
    await addSubscription(
      registry,
      aSubscription({ queue, id: subscriptionId, subscriber: `https://${subscriptionId}.test/` }),
    );
    const key = { queue, messageId };
    const { acceptedAt, expiresAt } = delivery;
    const counts = { matched: 1, filtered: 0, duplicates: 0, buckets: 1 };
    await ports.messageRecords.accept({ key, acceptedAt, listedAt: acceptedAt, ...counts, expiresAt });
    const message = aMessage({ queue, id: messageId });
    await ports.messageRecords.keepBody({ key, acceptedAt }, { kind: 'inline', message }, expiresAt);
    return await put(delivery);
  };

  /** Keeps so many exhausted deliveries, `m-0` being the first. */
  const keepMany = async (
    count: number,
    about: (index: number) => DeliveryFields = () => ({}),
  ): Promise<Delivery[]> => {
    const kept: Delivery[] = [];
    for (let index = 0; index < count; index += 1)
      kept.push(await keep(anExhausted({ messageId: `m-${index}` }, about(index))));
    return kept;
  };

  const record = async (key: DeliveryKey): Promise<Delivery> => {
    const found = await deliveries.find(key);
    if (found === undefined) throw new Error(`there is no delivery ${key.messageId}`);
    return found;
  };

  const startRecovery = async (selection: Partial<RecoverySelection> = {}) => {
    const selected = { queue: 'orders', since: SOME_TIME - DAY_MS, until: time.now, ...selection };
    recoveryCount += 1;
    const recovery = newRecovery(buildRecoveryId(time.now, `r-${recoveryCount}`), selected, {
      now: time.now,
      retentionMs: settings.retentionMs,
    });
    await ports.recoveries.create(recovery);
    const operation = {
      kind: 'recovery' as const,
      queue: selected.queue,
      recoveryId: recovery.id,
      orderedAt: time.now,
    };
    await ports.operations.send(operation);
    return {
      operation,
      id: recovery.id,
      /** Its current record. */
      found: async () => {
        const found = await ports.recoveries.find(selected.queue, recovery.id);
        if (found === undefined) throw new Error('the recovery is gone');
        return found;
      },
    };
  };

  /** Calls `see` before each save of a recovery. If `see` throws, the save fails with that error. */
  const beforeSave = (see: (recovery: Recovery) => unknown): void => {
    const recoveries = { ...ports.recoveries };
    ports.recoveries.save = async (recovery) => {
      await see(recovery);
      return await recoveries.save(recovery);
    };
  };

  /** Handles one operation once. `context` may be another view of the same world. */
  const receive = async (
    operation: Operation,
    context: OperateContext = { ports, settings },
    invocationMs = INVOCATION_MS,
  ) => {
    const endsAt = time.now + invocationMs;
    await operate(context, operation, () => endsAt - time.now);
  };

  /** Handles the oldest operation, if any, and queues it again if handling throws. */
  const workOnce = async (context?: OperateContext): Promise<boolean> => {
    const next = queued.shift();
    if (next === undefined) return false;
    const { operation, delaySeconds } = next;
    time.now += delaySeconds * 1000;
    try {
      await receive(operation, context);
    } catch {
      queued.push({ operation, delaySeconds: VISIBILITY_SECONDS });
    }
    return true;
  };

  /** Handles operations until the queue is empty, and returns their number. */
  const work = async (): Promise<number> => {
    let receives = 0;
    while (await workOnce()) {
      receives += 1;
      if (receives > 1000) throw new Error('the operations never end');
    }
    return receives;
  };

  /** Requests a recovery, does all of it, and returns its record. */
  const recover = async (selection: Partial<RecoverySelection> = {}): Promise<Recovery> => {
    const { found } = await startRecovery(selection);
    await work();
    return found();
  };

  return {
    ports,
    settings,
    time,
    queued,
    woken,
    unscheduled,
    put,
    keep,
    keepMany,
    record,
    recover,
    facts: (name: Fact['fact']) => ports.journal.facts.filter(({ fact }) => fact === name),
    startRecovery,
    receive,
    beforeSave,
    workOnce,
    work,
  };
};

export type OperateWorld = ReturnType<typeof operateWorld>;

/** A delivery that exhausted its retries before any recovery is requested. */
export const anExhausted = (
  ids: { messageId?: string; subscriptionId?: string } = {},
  overrides: DeliveryFields = {},
): Delivery =>
  aDelivery({
    key: { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0, ...ids },
    status: 'exhausted',
    reason: 'retries_exhausted',
    attempts: [anAttempt()],
    ...overrides,
  });

/** A delivery whose next attempt is far in the future. */
export const aRetrying = (ids: Partial<DeliveryKey> = {}, overrides: DeliveryFields = {}): Delivery =>
  aDelivery({
    key: { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0, ...ids },
    status: 'retrying',
    next: { number: 2, phase: 'backoff', dueAt: SOME_TIME * 2, by: 'scheduler' },
    overdueAt: SOME_TIME * 2,
    ...overrides,
  });

/** What the deletion of the subscription of these deliveries sends. */
export const SUBSCRIPTION_DELETION = {
  kind: 'cancellation',
  queue: 'orders',
  subscriptionId: 's-1',
  deletedAt: REQUESTED_AT,
} as const;
