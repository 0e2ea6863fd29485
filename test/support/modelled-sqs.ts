import { MAX_RECEIVES, returnDelaySeconds } from '../../shared/domain/receives.ts';
import { frozen } from './in-memory/frozen.ts';
import type { VirtualClock } from './in-memory/virtual-clock.ts';

/**
 * A received message. `acknowledge` deletes it for all of its receivers. `returnSooner` makes it visible again
 * after the delay that the functions request when they fail a message.
 */
export type Receipt<T> = {
  id: string;
  value: T;
  receiveCount: number;
  /** Identifies this receive for fault injection. */
  label: string;
  acknowledge: () => void;
  returnSooner: () => void;
};

export type ModelledSqs<T> = ReturnType<typeof modelledSqs<T>>;

/** Faults that AWS permits or may have. Each is queried once per place, which the label identifies. */
export type QueueFaults = {
  /** The messages that a send stores, and the delay of each. Normally one, without delay. */
  copiesOf?: (label: string) => readonly { label: string; laterMs: number }[];
  batchSize?: (label: string) => number;
  /** When a queue that currently delivers nothing resumes; undefined: it delivers. */
  closedUntil?: (now: number) => number | undefined;
  /** Milliseconds after which a received message is received again, regardless of its visibility timeout. */
  seenAgainAfterMs?: (receipt: string) => number | undefined;
  isAcknowledgementLost?: (receipt: string) => boolean;
  /** Uniform in [0, 1): position of a failed message's delay in its range. @default 0.5 */
  jitter?: (receipt: string) => number;
};

export type SqsOptions<T> = {
  /** Prefix of message ids. */
  name: string;
  /** Real or virtual time, in milliseconds since the epoch. */
  timeline: Pick<VirtualClock, 'now' | 'at'>;
  visibilityMs: () => number;
  /** @default 10 */
  batchSize?: number;
  /** The `MessageGroupId` of a message, which makes the queue fair. @default messages come in the order of arrival */
  groupOf?: (value: T) => string | undefined;
  /** Concurrent batches: initially, and at most. @default unbounded */
  scaling?: { first: number; most: number };
  /**
   * One invocation. Messages not acknowledged when it ends become visible again later. `environment`: counted
   * from 0.
   */
  consume: (batch: readonly Receipt<T>[], environment: number) => Promise<void>;
  faults?: QueueFaults;
};

type Message<T> = { id: string; label: string; value: T; receiveCount: number; isGone: boolean };

type Received<T> = { message: Message<T>; receipt: Receipt<T>; isReturned: () => boolean };

const SECOND = 1_000;

/**
 * Up to 300 more batches a minute while messages wait:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
const SCALE_UP_MS = 60_000 / 300;

/**
 * Models an SQS standard queue with a Lambda event source mapping.
 *
 * - A message is stored at least once, in no order:
 *   https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html
 * - A received message is hidden for the visibility timeout, which starts with the receive:
 *   https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
 * - A message received `maxReceiveCount` times is moved to the dead letters instead of being received again:
 *   https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
 * - Visible messages are received in batches; an execution environment handles one batch at a time:
 *   https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
export function modelledSqs<T>(options: SqsOptions<T>) {
  const { name, timeline, faults = {}, batchSize = 10 } = options;
  const { first, most } = options.scaling ?? { first: Infinity, most: Infinity };
  const visible = visibleMessages<Message<T>>(timeline.now, ({ value }) => options.groupOf?.(value));
  const idleEnvironments: number[] = [];
  let deadLetters: Message<T>[] = [];
  let [stored, waiting, environments, busy] = [0, 0, 0, 0];
  let allowed = first;
  let isGrowing = false;

  const store = (label: string, value: T, delayMs: number): void => {
    stored += 1;
    waiting += 1;
    const id = `${name}-${stored}`;
    becomeVisible(
      { id, label, value: frozen(value), receiveCount: 0, isGone: false },
      timeline.now() + delayMs,
    );
  };

  const becomeVisible = (message: Message<T>, at: number): void => {
    timeline.at(at, () => {
      if (message.isGone) return;
      visible.add(message);
      if (visible.length === 1) timeline.at(timeline.now(), handOut);
    });
  };

  const handOut = (): void => {
    const until = faults.closedUntil?.(timeline.now());
    if (until !== undefined) timeline.at(until, handOut);
    else fillEnvironments();
  };

  const canHandOut = (): boolean => visible.length > 0 && busy < allowed;

  const fillEnvironments = (): void => {
    while (canHandOut()) {
      const size = faults.batchSize?.(visible.first?.label ?? '') ?? batchSize;
      const batch = visible.take(size).flatMap((message) => {
        const received = receive(message);
        if (received.length === 0) visible.processed(message, 0);
        return received;
      });
      if (batch.length > 0) void invoke(batch);
    }
    if (visible.length > 0) scaleUpLater();
  };

  const scaleUpLater = (): void => {
    if (isGrowing || allowed >= most) return;
    isGrowing = true;
    timeline.at(timeline.now() + SCALE_UP_MS, () => {
      isGrowing = false;
      allowed += 1;
      handOut();
    });
  };

  const remove = (message: Message<T>): void => {
    if (!message.isGone) waiting -= 1;
    message.isGone = true;
  };

  /** Empty if the message was deleted in the meantime, or has become a dead letter. */
  const receive = (message: Message<T>): Received<T>[] => {
    if (message.isGone) return [];
    if (message.receiveCount >= MAX_RECEIVES) {
      remove(message);
      deadLetters.push(message);
      return [];
    }
    message.receiveCount += 1;
    const { id, value, receiveCount } = message;
    const label = `${message.label}#${receiveCount}`;
    const again = faults.seenAgainAfterMs?.(label);
    if (again !== undefined) becomeVisible(message, timeline.now() + again);
    const acknowledge = (): void => {
      if (faults.isAcknowledgementLost?.(label) !== true) remove(message);
    };
    let isReturned = false;
    const returnSooner = (): void => {
      // Only the latest receipt of a message has an effect.
      if (isReturned || message.receiveCount !== receiveCount) return;
      isReturned = true;
      const seconds = returnDelaySeconds(receiveCount, () => faults.jitter?.(label) ?? 0.5);
      becomeVisible(message, timeline.now() + seconds * SECOND);
    };
    const receipt = { id, value, receiveCount, label, acknowledge, returnSooner };
    return [{ message, receipt, isReturned: () => isReturned }];
  };

  const invoke = async (batch: readonly Received<T>[]): Promise<void> => {
    const receivedAt = timeline.now();
    const environment = idleEnvironments.pop() ?? environments++;
    busy += 1;
    const receipts = batch.map(({ receipt }) => receipt);
    await options.consume(receipts, environment);
    for (const received of batch) {
      visible.processed(received.message, timeline.now() - receivedAt);
      redeliverLater(received, receivedAt + options.visibilityMs());
    }
    busy -= 1;
    idleEnvironments.push(environment);
    if (visible.length === 0 && busy === 0) allowed = first;
    if (Number.isFinite(most)) handOut();
  };

  /** Makes the message visible again, unless it was deleted, returned, or received again in the meantime. */
  const redeliverLater = ({ message, receipt, isReturned }: Received<T>, at: number): void => {
    if (message.isGone) return;
    timeline.at(at, () => {
      if (message.receiveCount === receipt.receiveCount && !isReturned())
        becomeVisible(message, timeline.now());
    });
  };

  return {
    /** `label`: identifies the message for fault injection. */
    send: (value: T, delaySeconds = 0, label = ''): void => {
      const copies = faults.copiesOf?.(label) ?? [{ label, laterMs: 0 }];
      for (const copy of copies) store(copy.label, value, delaySeconds * SECOND + copy.laterMs);
    },
    /** Moves the dead letters back as new messages. */
    redrive: (): void => {
      const redriven = deadLetters;
      deadLetters = [];
      for (const { label, value } of redriven) store(`${label}!`, value, 0);
    },
    get deadLetters() {
      return deadLetters.length;
    },
    /** Messages sent that are neither deleted nor dead letters. */
    get waiting() {
      return waiting;
    },
  };
}

/**
 * An invocation that handles its messages concurrently and reports each failure separately, so that the others
 * are deleted (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html). It returns failed
 * messages at once.
 */
export function sideBySide<T>(handle: (receipt: Receipt<T>, environment: number) => Promise<void>) {
  return async (batch: readonly Receipt<T>[], environment: number): Promise<void> => {
    const handled = batch.map(async (receipt): Promise<Receipt<T>[]> => {
      try {
        await handle(receipt, environment);
        return [receipt];
      } catch {
        receipt.returnSooner();
        return [];
      }
    });
    for (const { acknowledge } of (await Promise.all(handled)).flat()) acknowledge();
  };
}

/** The messages of one `MessageGroupId`. `number`: in the order of arrival. */
type Tenant<Message> = {
  waiting: { message: Message; number: number }[];
  inFlight: number;
  lastInFlightAt: number;
  processedMs: number;
  isNoisy: boolean;
};

const LEAST_IN_FLIGHT = 30;
const MAX_SHARE = 0.1;
const QUIET_AFTER_MS = 5 * 60_000;

/** The guide does not define "recent" processing time. */
const RECENT_MS = 60_000;

/** A message without a group is a separate tenant, so these are never noisy and keep the order of arrival. */
const UNGROUPED = Symbol('without a group');

/**
 * The visible messages of an SQS queue, in the order in which a fair queue returns them
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues-detailed.html). A tenant is
 * noisy with over a tenth of the messages in flight (30 at least) or of the recent processing time, until its backlog is consumed
 * or nothing of it was in flight for five minutes. Noisy tenants come last, first the one with the fewest messages in flight.
 */
function visibleMessages<Message>(now: () => number, groupOf: (message: Message) => string | undefined) {
  const tenants = new Map<string | symbol, Tenant<Message>>();
  const recent: { at: number; tenant: Tenant<Message>; ms: number }[] = [];
  let [length, arrivals, inFlight, processedMs] = [0, 0, 0, 0];

  const tenantOf = (message: Message): Tenant<Message> => {
    const name = groupOf(message) ?? UNGROUPED;
    const tenant = tenants.get(name) ?? {
      waiting: [],
      inFlight: 0,
      lastInFlightAt: 0,
      processedMs: 0,
      isNoisy: false,
    };
    tenants.set(name, tenant);
    return tenant;
  };

  const forgetOld = (): void => {
    for (let oldest = recent[0]; oldest !== undefined; oldest = recent[0]) {
      if (oldest.at > now() - RECENT_MS) return;
      recent.shift();
      oldest.tenant.processedMs -= oldest.ms;
      processedMs -= oldest.ms;
    }
  };

  const isNoisyNow = (tenant: Tenant<Message>): boolean => {
    if (tenant === tenants.get(UNGROUPED) || tenant.waiting.length === 0) return false;
    if (tenant.isNoisy) return tenant.inFlight > 0 || now() - tenant.lastInFlightAt < QUIET_AFTER_MS;
    const hasMany = tenant.inFlight >= LEAST_IN_FLIGHT && tenant.inFlight > MAX_SHARE * inFlight;
    return hasMany || tenant.processedMs > MAX_SHARE * processedMs;
  };

  const next = (): Tenant<Message> | undefined => {
    const all = [...tenants.values()].filter(({ waiting }) => waiting.length > 0);
    const quiet = all.filter(({ isNoisy }) => !isNoisy);
    return quiet.length > 0
      ? leastBy(quiet, ({ waiting }) => waiting[0]?.number ?? 0)
      : leastBy(all, (tenant) => tenant.inFlight);
  };

  return {
    get length() {
      return length;
    },
    get first() {
      return next()?.waiting[0]?.message;
    },
    add: (message: Message): void => {
      tenantOf(message).waiting.push({ message, number: arrivals });
      arrivals += 1;
      length += 1;
    },
    take: (most: number): Message[] => {
      forgetOld();
      for (const tenant of tenants.values()) tenant.isNoisy = isNoisyNow(tenant);
      const taken: Message[] = [];
      while (taken.length < most) {
        const tenant = next();
        const arrival = tenant?.waiting.shift();
        if (tenant === undefined || arrival === undefined) break;
        tenant.inFlight += 1;
        inFlight += 1;
        length -= 1;
        taken.push(arrival.message);
      }
      return taken;
    },
    /** The invocation with the message is over, after so many milliseconds. */
    processed: (message: Message, ms: number): void => {
      const tenant = tenantOf(message);
      tenant.inFlight -= 1;
      tenant.lastInFlightAt = now();
      tenant.processedMs += ms;
      inFlight -= 1;
      processedMs += ms;
      recent.push({ at: now(), tenant, ms });
    },
  };
}

function leastBy<Item>(items: readonly Item[], valueOf: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>(
    (least, item) => (least === undefined || valueOf(item) < valueOf(least) ? item : least),
    undefined,
  );
}
