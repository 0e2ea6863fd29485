import type { Message } from '../../shared/domain/message/message.ts';
import { hashVersion } from '../../shared/domain/message/version.ts';
import type { RetainedMessages } from '../../shared/domain/subscription/vocabulary.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { ConnectionFault } from '../../shared/domain/retry/vocabulary.ts';

/** The plan of a run. Random decisions during the run follow from the seed. Times are milliseconds from its start. */
export type Scenario = {
  seed: number;
  settings: SimulatedSettings;
  queuePolicy: PartialRetryPolicy | undefined;
  subscriptions: readonly PlannedSubscription[];
  messages: readonly PlannedMessage[];
  changes: readonly PlannedChange[];
  interventions: readonly Intervention[];
  /** Windows in which a queue delivers nothing. */
  standstills: readonly Standstill[];
  throttles: readonly Throttle[];
  rates: FaultRates;
  /** Whether new subscribers have to confirm. */
  confirmsSubscriptions: boolean;
  /** No faults after this time. */
  calmAt: number;
  /** Subscriptions per page. */
  pageSize: number;
  /** Maximum clock error of a function, in both directions. */
  skewMs: number;
  /** Function instances, each with its own clock, cache and counts. */
  machines: number;
  /** Concurrent invocations for the delivery and for the retry queue. @default unbounded */
  concurrency?: number;
};

/** The deployment's settings. They may change during a run; an invocation keeps those of its start. */
export type SimulatedSettings = {
  attemptTimeoutMs: number;
  schedulerThresholdSeconds: number;
  retentionMs: number;
  retryAfterCapMs: number;
  overdueAfterMs: number;
  cacheSeconds: number;
  disableFailingAfterMs: number;
  retainMessages: RetainedMessages;
  firstAttemptsPerJob: number;
  defaultRetryPolicy: RetryPolicy;
  adaptToThrottling: boolean;
  holdWhileDown: boolean;
  retryThrottled: boolean;
};

export type PlannedSubscription = {
  id: string;
  /** Negative: it exists before the start. */
  at: number;
  policy: PartialRetryPolicy | undefined;
  ttlSeconds: number | undefined;
  rawDelivery: boolean;
  maxPerSecond: number | undefined;
  interests: PlannedInterests;
  /** How it is confirmed; undefined: it needs no confirmation. */
  confirmation: PlannedConfirmation | undefined;
  /** It is not called: consumers receive its deliveries. */
  pull?: true;
  /** It has OAuth 2. */
  needsToken?: true;
  /** It has a backlog of retries on bounded concurrency. */
  isNoisy?: true;
  /** Earlier failures, in the hour before the start. */
  failures: number;
  /** The back-pressure that it begins with. */
  pressed?: 'slowed' | 'held';
  answers: Answers;
};

/** `perSecond`: requests that it takes in any second; the rest get 429. Outages come first. */
export type PlannedRefusals = {
  perSecond?: number;
  retryAfter?: string;
  outages?: readonly { from: number; to: number; answer: Answer }[];
};

/** Which messages it receives; empty: all. */
export type PlannedInterests = {
  types?: readonly string[];
  /** Wanted values of the field `k` of the data. */
  keys?: readonly number[];
  /** A filter that exceeds its step limit on data with a long list, and matches no other data. */
  isExpensive?: true;
};

/** Who confirms a subscription, and how long after its link arrived or it was created. */
export type PlannedConfirmation = { by: 'subscriber' | 'operator' | 'none'; afterMs: number };

/**
 * A receiver's responses to the requests of one message: `first` in turn, then always `then`. `refuses`: what it
 * refuses before that.
 */
export type Answers = { first: readonly Answer[]; then: Answer; refuses?: PlannedRefusals };

export type Answer = {
  takesMs: number;
  retryAfter?: string;
  response: { status: number } | { fault: ConnectionFault } | 'forbidden';
};

/** The content of a message as published. */
export type PlannedVersion = {
  /** Source text of JSON. */
  data: string;
  type: string | undefined;
  ttlSeconds: number | undefined;
  delaySeconds: number | undefined;
  /** Whether the producer sets the timestamp; otherwise it is the SQS message's. */
  isTimed: boolean;
};

export type PlannedMessage = PlannedVersion & {
  id: string;
  at: number;
  /** Later copies under the same id, with the same or different content. */
  repeats: readonly ({ at: number } & Partial<PlannedVersion>)[];
};

/** Sent once, to all, without options. `at`: milliseconds from the start. */
export const plainMessage = (id: string, at: number): PlannedMessage => ({
  id,
  at,
  data: 'null',
  ttlSeconds: undefined,
  delaySeconds: undefined,
  repeats: [],
  type: undefined,
  isTimed: false,
});

/** It gets every message, unconfirmed and at any rate. */
export const UNSELECTIVE = {
  interests: {},
  confirmation: undefined,
  maxPerSecond: undefined,
} satisfies Partial<PlannedSubscription>;

/** It exists an hour before the start, gets every message, and takes it. */
export const plainSubscription = (id: string): PlannedSubscription => ({
  ...UNSELECTIVE,
  id,
  at: -HOUR,
  policy: undefined,
  ttlSeconds: undefined,
  rawDelivery: false,
  failures: 0,
  answers: { first: [], then: answering(200) },
});

/** Of a scenario: one subscription and one message that match and do not expire. */
export const plainPair = ({ subscriptions, messages }: Scenario) => {
  const [subscription] = subscriptions;
  const [message] = messages;
  if (subscription === undefined || message === undefined)
    throw new RangeError('the scenario has no subscription or no message');
  return {
    subscription: { ...subscription, interests: {}, confirmation: undefined, ttlSeconds: undefined },
    message: { ...message, ttlSeconds: undefined },
  };
};

export const answering = (status: number, takesMs = 100): Answer => ({ takesMs, response: { status } });

export type PlannedChange = { at: number } & (
  | { kind: 'queue_policy'; policy: PartialRetryPolicy | undefined }
  | { kind: 'subscription_policy'; id: string; policy: PartialRetryPolicy | undefined }
  | { kind: 'subscription_url'; id: string; hasNewOrigin: boolean }
  | { kind: 'subscription_interests'; id: string; interests: PlannedInterests }
  | { kind: 'subscription_limit'; id: string; maxPerSecond: number | undefined }
  | { kind: 'subscription_secret'; id: string; graceMs: number }
  /** By an operator. */
  | { kind: 'subscription_confirmed' | 'subscription_unconfirmed'; id: string }
  | { kind: 'subscription_deleted'; id: string }
  | { kind: 'subscription_disabled'; id: string }
  /** `id`: of the subscription; undefined: the queue. */
  | { kind: 'paused'; of: string | undefined; forMs: number | undefined }
  | { kind: 'resumed'; of: string | undefined; perSecond: number | undefined }
  | { kind: 'subscription_enabled'; id: string }
  | { kind: 'queue_deleted' }
  /** Deleted before. `of`: as above. */
  | { kind: 'restored'; of: string | undefined }
  /** Deleted and recreated after this time. Subscriptions of its new life are planned for later. */
  | { kind: 'queue_recreated'; afterMs: number }
  | { kind: 'settings'; settings: Partial<SimulatedSettings> }
);

/**
 * An operator's request for one delivery, for all finished deliveries (of a subscription or the queue), or for a
 * message.
 */
export type Intervention = { at: number } & (
  | { kind: 'retry' | 'send' | 'cancel'; messageId: string; subscriptionId: string }
  | { kind: 'recover'; subscriptionId: string | undefined }
  | { kind: 'erase'; messageId: string }
);

export type QueueName = 'ingress' | 'delivery' | 'retry' | 'operation';

export type Standstill = { queue: QueueName; from: number; to: number };

/** A window in which one table partition refuses every call while the others work (partition.ts). */
export type Throttle = { partition: string; from: number; to: number };

/** Fault probabilities per port call, and per message sent or received. */
export type FaultRates = { calls: number; messages: number };

export const NO_FAULTS: FaultRates = { calls: 0, messages: 0 };

/** Nothing happens but what messages bring about. */
export const CALM = {
  changes: [],
  interventions: [],
  throttles: [],
  standstills: [],
} satisfies Partial<Scenario>;

export const QUEUE = 'orders';
export const START = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** One SQS message of a producer, as dispatch reads it. `sentAt`: milliseconds since the epoch. */
export type Published = {
  message: Message;
  version: string;
  delaySeconds: number | undefined;
  sentAt: number;
};

/** All copies of a message, in planned order. */
export const copiesOf = ({ id, at, repeats, ...version }: PlannedMessage): Published[] =>
  [{ at }, ...repeats].map(({ at: publishedAt, ...changes }) =>
    published(id, { ...version, ...changes }, START + publishedAt),
  );

const published = (
  id: string,
  { data, type, ttlSeconds: ttl, delaySeconds: delay, isTimed }: PlannedVersion,
  sentAt: number,
): Published => {
  const timestamp = new Date(sentAt).toISOString();
  return {
    message: {
      queue: QUEUE,
      id,
      ...(type === undefined ? {} : { type }),
      timestamp,
      data,
      ...(ttl === undefined ? {} : { expiresAt: sentAt + ttl * SECOND }),
    },
    version: hashVersion({ type, timestamp: isTimed ? timestamp : undefined, ttl, delay, data }),
    delaySeconds: delay,
    sentAt,
  };
};
