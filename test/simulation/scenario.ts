import { type ConnectionFault, type RetainedMessages } from '../../shared/domain/vocabulary.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';

/** Everything that is decided before a run; what chance decides during it comes from the seed. Times are ms from its start. */
export type Scenario = {
  seed: number;
  settings: SimulatedSettings;
  queuePolicy: PartialRetryPolicy | undefined;
  subscriptions: readonly PlannedSubscription[];
  messages: readonly PlannedMessage[];
  changes: readonly PlannedChange[];
  interventions: readonly Intervention[];
  /** Windows in which a queue hands nothing out. */
  standstills: readonly Standstill[];
  throttles: readonly Throttle[];
  rates: FaultRates;
  /** Whether the deployment asks every new subscriber to confirm. */
  confirmsSubscriptions: boolean;
  /** From then on nothing goes wrong any more. */
  calmAt: number;
  /** Subscriptions that one read of their list answers with. */
  pageSize: number;
  /** How far a function's clock may be off, either way. */
  skewMs: number;
};

/** What a deployment sets. It may change in the middle of a run, and an invocation keeps what it began with. */
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
};

export type PlannedSubscription = {
  id: string;
  /** Below 0: it was there before anything happened. */
  at: number;
  policy: PartialRetryPolicy | undefined;
  ttlSeconds: number | undefined;
  rawDelivery: boolean;
  maxPerSecond: number | undefined;
  interests: PlannedInterests;
  /** It has to confirm first; undefined: nobody asks it to. */
  confirmation: PlannedConfirmation | undefined;
  /** How often it had failed since an hour before, when everything began. */
  failures: number;
  answers: Answers;
};

/** Which messages it asks for: all, where it says nothing. */
export type PlannedInterests = {
  types?: readonly string[];
  /** Values of the data's field `k`. */
  keys?: readonly number[];
  /** A filter that takes more steps than it has on data with a long list, and matches no other. */
  isCostly?: true;
};

/** Who confirms a subscription, so long after its subscriber has the link, or after it was made. */
export type PlannedConfirmation = { by: 'subscriber' | 'operator' | 'nobody'; afterMs: number };

/** What a receiver answers to the requests of one message, in turn, and then for ever. */
export type Answers = { first: readonly Answer[]; then: Answer };

export type Answer = {
  takesMs: number;
  retryAfter?: string;
  says: { status: number } | { fault: ConnectionFault } | 'forbidden';
};

/** What a producer says of a message when it publishes it. */
export type PlannedVersion = {
  /** Source text of JSON. */
  data: string;
  type: string | undefined;
  ttlSeconds: number | undefined;
  delaySeconds: number | undefined;
  /** Whether its producer says when it was published; else that is the time of the SQS message. */
  isTimed: boolean;
};

export type PlannedMessage = PlannedVersion & {
  id: string;
  at: number;
  /** Published again under the same id, as the same or as something else. */
  repeats: readonly ({ at: number } & Partial<PlannedVersion>)[];
};

export type PlannedChange = { at: number } & (
  | { kind: 'queue_policy'; policy: PartialRetryPolicy | undefined }
  | { kind: 'subscription_policy'; id: string; policy: PartialRetryPolicy | undefined }
  | { kind: 'subscription_url'; id: string; hasNewOrigin: boolean }
  | { kind: 'subscription_interests'; id: string; interests: PlannedInterests }
  | { kind: 'subscription_limit'; id: string; maxPerSecond: number | undefined }
  | { kind: 'subscription_secret'; id: string; graceMs: number }
  /** By an operator, or taken back by one. */
  | { kind: 'subscription_confirmed' | 'subscription_unconfirmed'; id: string }
  | { kind: 'subscription_deleted'; id: string }
  | { kind: 'subscription_disabled'; id: string }
  | { kind: 'subscription_enabled'; id: string }
  | { kind: 'queue_deleted' }
  /** Deleted, and made again after that time. Subscriptions of its new life are planned for later than that. */
  | { kind: 'queue_recreated'; afterMs: number }
  | { kind: 'settings'; settings: Partial<SimulatedSettings> }
);

/** What an operator does to one delivery, to all that are over at that time (of one subscription, or of the queue), or to a message. */
export type Intervention = { at: number } & (
  | { kind: 'retry' | 'cancel'; messageId: string; subscriptionId: string }
  | { kind: 'recover'; subscriptionId: string | undefined }
  | { kind: 'erase'; messageId: string }
);

export type QueueName = 'ingress' | 'delivery' | 'retry' | 'operation';

export type Standstill = { queue: QueueName; from: number; to: number };

/** A window in which one partition of a table refuses every call, while the others work (partition.ts). */
export type Throttle = { partition: string; from: number; to: number };

/** Probabilities: of a call to a port, and of a message sent or received. */
export type FaultRates = { calls: number; messages: number };

export const QUEUE = 'orders';
export const START = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
