/**
 * The closed lists of words; those of counters are in message/statistics.ts. Each type derives from its list here, each
 * zod enum where it is parsed (`z.enum(STATUSES)`). Code that handles every word is a `Record` or a `switch` without
 * default, so a new word fails to compile there.
 */

// --- deliveries

/** Statuses of an unfinished delivery. `retrying`: after its first failure. */
export const OPEN_STATUSES = ['pending', 'retrying'] as const;
export type OpenStatus = (typeof OPEN_STATUSES)[number];

/** Ended without a success: a recovery can reopen such a delivery for another round. */
export const RECOVERABLE_STATUSES = ['rejected', 'exhausted', 'cancelled'] as const;
export type RecoverableStatus = (typeof RECOVERABLE_STATUSES)[number];

/** Statuses of a finished delivery. */
export const TERMINAL_STATUSES = ['delivered', ...RECOVERABLE_STATUSES] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const STATUSES = [...OPEN_STATUSES, ...TERMINAL_STATUSES] as const;
export type Status = (typeof STATUSES)[number];

/** A queue's listings omit delivered deliveries, which are found through their message. */
export const LISTED_STATUSES = [...OPEN_STATUSES, ...RECOVERABLE_STATUSES] as const;

/** Steps that a finished delivery still has pending. */
export const PENDING_STEPS = ['undeliverable', 'disable_subscription', 'exhausted_event'] as const;
export type PendingStep = (typeof PENDING_STEPS)[number];

/** Names of the conditional writes to a delivery's record. */
export type TransitionName =
  | 'open'
  | 'claim'
  | 'take_over'
  | 'record'
  | 'record_late'
  | 'release'
  | 'await_slot'
  | 'await_pull'
  | 'move_up'
  | 'cancel'
  | 'settle'
  | 'postpone'
  | 'retry_now'
  | 'reopen'
  | 'send';

/** Position of an attempt in its round. `manual`: requested by an operator. */
export const PHASES = ['initial', 'immediate', 'pre_backoff', 'backoff', 'post_backoff', 'manual'] as const;
export type Phase = (typeof PHASES)[number];

/** How the next attempt is started; `pull`: its subscriber receives it. */
export const MECHANISMS = ['same_invocation', 'sqs_delay', 'scheduler', 'pull'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** How an attempt was started; absent on a first attempt, which its message started, and on a received one. */
export const ATTEMPT_TRIGGERS = ['same_invocation', 'sqs_delay', 'scheduler', 'reconcile'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/** `failed`: worth a retry. `rejected`: the subscriber's answer is final. */
export const OUTCOMES = ['delivered', 'failed', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why there was no usable response. Stored and shown to the operator. */
export type ConnectionFault =
  | 'timeout'
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_reset'
  | 'tls_failed'
  | 'invalid_response'
  | 'connection_failed'
  /** The subscriber's authorisation server gave no token: no request was sent. */
  | 'auth_failed';

/** Why a received delivery failed: its subscriber said so, or did not answer until its lease ended. */
export type PullFault = 'nacked' | 'lease_expired';

/** Why a subscription gets fewer requests than it could: it throttles, or it is down (subscription/back-pressure.ts). */
export const PRESSURE_REASONS = ['receiver_throttled', 'circuit_open'] as const;
export type PressureReason = (typeof PRESSURE_REASONS)[number];

/** Why a due delivery waits. `rate_limited`: by the subscription's `max_per_second`. */
export const WAITING_REASONS = ['rate_limited', ...PRESSURE_REASONS] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

// --- why something ends or is refused

/** Why no requests are sent to a subscription. */
export type AbsenceReason =
  'subscription_deleted' | 'subscription_expired' | 'subscription_unconfirmed' | 'disabled';

/** Why a delivery is cancelled. `manual`: by an operator. `not_received`: it waited too long for its subscriber. */
export type CancelReason = AbsenceReason | `body_${'erased' | 'missing'}` | OtherCancelReason;
type OtherCancelReason = 'manual' | 'queue_deleted' | 'message_expired' | 'not_received';

/** What a subscriber can ask for in the header `webhook-delivery` of its answer. */
export const DELIVERY_REQUESTS = ['disable', 'abort-message'] as const;
export type DeliveryRequest = (typeof DELIVERY_REQUESTS)[number];

/**
 * Why a rejection is final. `address_forbidden`: our address guard refused to connect. `disable_requested` and
 * `abort_requested`: the header `webhook-delivery`.
 */
export type RejectReason =
  'gone' | 'disable_requested' | 'abort_requested' | 'address_forbidden' | `http_${number}`;

/** Reason stored with a terminal status other than `delivered`. */
export type EndReason = CancelReason | RejectReason | 'retries_exhausted';

/** Why a manual retry, or another round for a recovery, is refused. */
export type RetryRefusal =
  | 'no_such_delivery'
  /** An attempt is in flight. */
  | 'in_flight'
  /** The first attempt has not started: its job has not been received, or will be redelivered by SQS. */
  | 'not_begun'
  /** It has ended, but has pending steps, which take a few seconds. */
  | 'being_closed'
  | 'body_gone'
  /** Another round would make its record too large. */
  | 'too_many_attempts'
  | 'message_expired'
  | 'subscription_absent'
  /** Not ended; a recovery skips it. */
  | 'open'
  /** It succeeded in the meantime; a recovery skips it. */
  | 'delivered'
  /** The same recovery has already reopened it. */
  | 'recovered_already'
  /** Concurrent writes kept changing it. */
  | 'contended';

/** Why a message is not sent to a subscription by hand. */
export type SendRefusal =
  | RetryRefusal
  | 'no_such_message'
  /** First attempts are still to come, and one of them may be for this subscription. */
  | 'unfinished';

/**
 * Why a delivery cannot be cancelled manually. `over`: it has ended. `not_begun`: it has no record yet, and filters
 * may exclude the message from this subscription. `contended`: concurrent writes kept changing it.
 */
export type CancelRefusal = 'no_such_delivery' | 'over' | 'not_begun' | 'contended';

/** Why deliver ignores a job or wake-up. `stale`: its attempt number does not match the record. */
export type DroppedReason = 'no_record' | 'finished' | 'stale' | 'in_flight';

/**
 * Why the data that a message refers to can never be read. `denied`: S3 refuses access; without s3:ListBucket it
 * gives the same answer for a missing object.
 */
export type DataReferenceFault =
  'data_ref_forbidden' | 'data_ref_missing' | 'data_ref_denied' | 'data_ref_too_large' | 'data_ref_not_json';

/** Why the body of an SQS message cannot be parsed. Fields are dotted paths. */
export type UnreadableReason =
  | 'not_json'
  | 'unknown_version'
  | 'unknown_kind'
  | 'message_missing'
  | 'data_missing'
  | 'queue_missing'
  | 'queue_not_allowed'
  | `invalid_field:${string}`;

/** Why a function of this deployment dead-lettered a message. `failed_repeatedly`: poison (receives.ts). */
export type DeadLetterReason =
  UnreadableReason | DataReferenceFault | 'unknown_queue' | 'body_missing' | 'failed_repeatedly';

// --- retry policies

export const BACKOFF_FUNCTIONS = [
  'linear',
  'arithmetic',
  'geometric',
  'exponential',
  'capped_exponential',
] as const;
export type BackoffFunction = (typeof BACKOFF_FUNCTIONS)[number];

export const JITTERS = ['none', 'full', 'equal'] as const;
export type Jitter = (typeof JITTERS)[number];

/** Names of complete policies (retry/presets.ts). */
export const POLICY_PRESETS = ['quick', 'default', 'standard-webhooks', 'patient'] as const;
export type PresetName = (typeof POLICY_PRESETS)[number];

/** Source of the policy in force. */
export const POLICY_SOURCES = ['subscription', 'queue', 'defaults'] as const;
export type PolicySource = (typeof POLICY_SOURCES)[number];

// --- messages

/** Which message bodies are kept: those with a `failed` attempt, or `all`. */
export const RETAINED_MESSAGES = ['failed', 'all'] as const;
export type RetainedMessages = (typeof RETAINED_MESSAGES)[number];

/**
 * What became of a message for one subscription. `unconfirmed`, `disabled`, `expired` and `deleted` are said of the
 * subscription; `not_sent_yet`: it matches, and its first attempt has not begun.
 */
export const EXPLAIN_VERDICTS = [
  ...STATUSES,
  ...WAITING_REASONS,
  'filtered',
  'unconfirmed',
  'disabled',
  'expired',
  'added_later',
  'not_sent_yet',
  'deleted',
] as const;
export type ExplainVerdict = (typeof EXPLAIN_VERDICTS)[number];

/** The options of a subscription that can exclude a message. */
export const EXCLUDING_OPTIONS = ['event_types', 'filter'] as const;

// --- subscriptions

/**
 * `manual`: by an operator; `gone`: by a 410; `disable_requested`: by `webhook-delivery: disable`; `failing`: only
 * failures for days.
 */
export const DISABLE_REASONS = ['manual', 'gone', 'disable_requested', 'failing'] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

/** State of an unconfirmed subscription; `owed`: the confirmation request may not have been sent. */
export const CONFIRMATION_STATES = ['asked', 'owed'] as const;

/** Standard Webhooks: `v1` is HMAC-SHA256 with a shared secret, `v1a` is ed25519. */
export const SIGNING_SCHEMES = ['v1', 'v1a'] as const;
export type SigningScheme = (typeof SIGNING_SCHEMES)[number];

/** How requests authenticate at a subscriber (`options.auth`). */
export const AUTH_TYPES = ['header', 'basic', 'mtls', 'oauth2_client_credentials'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

// --- operations and queues

export const RECOVERY_STATES = ['running', 'completed', 'stopped'] as const;
export type RecoveryState = (typeof RECOVERY_STATES)[number];

/** SQS queues that the functions consume. */
export type WorkQueueName = 'ingress' | 'delivery' | 'retry' | 'operation';

/** Dead-letter queues that `posthaste redrive` empties. */
export const REDRIVEN_QUEUES = ['ingress', 'delivery', 'operation', 'undeliverable'] as const;
export type RedrivenQueue = (typeof REDRIVEN_QUEUES)[number];
