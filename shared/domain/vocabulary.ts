/**
 * Every closed list of words, once. Its type derives from it here, its zod enum where it is parsed (`z.enum(STATUSES)`). What
 * has to decide something for every word is a `Record` or a `switch` without default, so a new word fails to compile there.
 */

// --- deliveries

/** A delivery that is not over. `retrying`: after its first failure. */
export const OPEN_STATUSES = ['pending', 'retrying'] as const;
export type OpenStatus = (typeof OPEN_STATUSES)[number];

/** Over without a success: a recovery can give such a delivery another round. */
export const RECOVERABLE_STATUSES = ['rejected', 'exhausted', 'cancelled'] as const;
export type RecoverableStatus = (typeof RECOVERABLE_STATUSES)[number];

/** Over. */
export const TERMINAL_STATUSES = ['delivered', ...RECOVERABLE_STATUSES] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const STATUSES = [...OPEN_STATUSES, ...TERMINAL_STATUSES] as const;
export type Status = (typeof STATUSES)[number];

/** The listings of a queue leave out the delivered ones, which are found by their message. */
export const LISTED_STATUSES = [...OPEN_STATUSES, ...RECOVERABLE_STATUSES] as const;

/** What a terminal record still has to do. */
export const OWED = ['undeliverable', 'disable_subscription', 'exhausted_event'] as const;
export type Owed = (typeof OWED)[number];

/** The names of the conditional writes to a delivery's record. */
export type TransitionName =
  | 'open'
  | 'claim'
  | 'take_over'
  | 'record'
  | 'record_late'
  | 'release'
  | 'await_slot'
  | 'move_up'
  | 'cancel'
  | 'settle'
  | 'postpone'
  | 'retry_now'
  | 'reopen';

// --- attempts

/** Where an attempt stands in its round. `manual` is an attempt asked for by hand. */
export const PHASES = ['initial', 'immediate', 'pre_backoff', 'backoff', 'post_backoff', 'manual'] as const;
export type Phase = (typeof PHASES)[number];

/** What brings the next attempt about. */
export const MECHANISMS = ['same_invocation', 'sqs_delay', 'scheduler'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** What brought an attempt about; a first attempt has none, because the message itself did. */
export const ATTEMPT_TRIGGERS = [...MECHANISMS, 'reconcile'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/** `failed` is worth retrying; `rejected` means that the subscriber answered, and said no. */
export const OUTCOMES = ['delivered', 'failed', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why no usable answer came. Kept on record and shown to the operator. */
export type ConnectionFault =
  | 'timeout'
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_reset'
  | 'tls_failed'
  | 'invalid_response'
  | 'connection_failed';

// --- why something ends or is refused

/** Why a subscription takes no requests. */
export type AbsenceReason =
  'subscription_deleted' | 'subscription_expired' | 'subscription_unconfirmed' | 'disabled';

/** Why a delivery is cancelled. `manual`: by a person. */
export type CancelReason =
  'manual' | 'queue_deleted' | 'message_expired' | 'body_erased' | 'body_missing' | AbsenceReason;

/** Why a subscriber's no is final. `address_forbidden`: our own address guard refused to connect. */
export type RejectReason = 'gone' | 'address_forbidden' | `http_${number}`;

/** What stands beside a terminal status other than `delivered`. */
export type EndReason = CancelReason | RejectReason | 'retries_exhausted';

/** Why an attempt by hand, or another round for a recovery, is refused. */
export type RetryRefusal =
  | 'no_such_delivery'
  /** An attempt is being made right now. */
  | 'in_flight'
  /** Its first attempt is still to come: its job has not been received, or comes back by itself. */
  | 'not_begun'
  /** It is over, but what it owes is not done yet: a matter of seconds. */
  | 'being_closed'
  | 'body_gone'
  /** Its record has so many attempts that another round would make it too large. */
  | 'too_many_attempts'
  | 'message_expired'
  | 'subscription_absent'
  /** Under way; a recovery leaves it alone. */
  | 'open'
  /** A success meanwhile; a recovery leaves it alone. */
  | 'delivered'
  /** This very recovery has given it a round. */
  | 'recovered_already'
  /** It changed again and again while we looked. */
  | 'contended';

/** Why a delivery cannot be cancelled by hand. */
export type CancelRefusal =
  | 'no_such_delivery'
  | 'over'
  /** Not on record yet, and filters may keep the message from this subscriber. */
  | 'not_begun'
  /** It changed again and again while we looked. */
  | 'contended';

/** Why deliver has nothing to do for a wake-up. */
export type DroppedReason = 'no_record' | 'finished' | 'stale' | 'in_flight';

/**
 * Why the data that a message refers to cannot be read, for good. `denied`: S3 refuses it, which without s3:ListBucket it does
 * also where there is no such object.
 */
export type DataReferenceFault =
  'data_ref_forbidden' | 'data_ref_missing' | 'data_ref_denied' | 'data_ref_too_large' | 'data_ref_not_json';

/** Why the text of an SQS message cannot be read. Fields are dotted paths. */
export type UnreadableReason =
  | 'not_json'
  | 'unknown_version'
  | 'unknown_kind'
  | 'message_missing'
  | 'data_missing'
  | 'queue_missing'
  | 'queue_not_allowed'
  | `invalid_field:${string}`;

/** Why one of our functions put a message into a dead-letter queue. */
export type DeadLetterReason = UnreadableReason | DataReferenceFault | 'unknown_queue' | 'body_missing';

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

/** Where the policy in force comes from. */
export const POLICY_SOURCES = ['subscription', 'queue', 'defaults'] as const;
export type PolicySource = (typeof POLICY_SOURCES)[number];

// --- messages

/** Of which messages the bodies are kept: those with a `failed` attempt, or `all`. */
export const RETAINED_MESSAGES = ['failed', 'all'] as const;
export type RetainedMessages = (typeof RETAINED_MESSAGES)[number];

// --- subscriptions

/** `manual`: by its operator; `gone`: by a 410; `failing`: because nothing else has come back for days. */
export const DISABLE_REASONS = ['manual', 'gone', 'failing'] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

/** Of a subscription that waits for its subscriber to confirm: `owed` where the question may not have been sent. */
export const CONFIRMATION_STATES = ['asked', 'owed'] as const;

/** Standard Webhooks: `v1` is HMAC-SHA256 with a shared secret, `v1a` is ed25519. */
export const SIGNING_SCHEMES = ['v1', 'v1a'] as const;
export type SigningScheme = (typeof SIGNING_SCHEMES)[number];

// --- operations and queues

export const RECOVERY_STATES = ['running', 'completed', 'stopped'] as const;
export type RecoveryState = (typeof RECOVERY_STATES)[number];

/** The SQS queues that our functions consume. */
export type WorkQueueName = 'ingress' | 'delivery' | 'retry' | 'operation';

/** The dead-letter queues that `posthaste redrive` empties. */
export const REDRIVEN_QUEUES = ['ingress', 'delivery', 'operation', 'undeliverable'] as const;
export type RedrivenQueue = (typeof REDRIVEN_QUEUES)[number];
