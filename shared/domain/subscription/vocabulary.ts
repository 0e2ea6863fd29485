/** The closed lists of words about queues and subscriptions (retry/vocabulary.ts says how they are used). */

/** Why a subscription gets fewer requests than it could: it throttles, or it is down (subscription/back-pressure.ts). */
export const PRESSURE_REASONS = ['receiver_throttled', 'circuit_open'] as const;
export type PressureReason = (typeof PRESSURE_REASONS)[number];

/** Why a due delivery waits. `rate_limited`: by the subscription's `max_per_second`. */
export const WAITING_REASONS = ['rate_limited', ...PRESSURE_REASONS] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** Whose pause keeps deliveries waiting (subscription/pause.ts). */
export const PAUSED_BY = ['subscription', 'queue'] as const;
export type PausedBy = (typeof PAUSED_BY)[number];

/** Why no requests are sent to a subscription. */
export const ABSENCE_REASONS = [
  'subscription_deleted',
  'subscription_expired',
  'subscription_unconfirmed',
  'disabled',
] as const;
export type AbsenceReason = (typeof ABSENCE_REASONS)[number];

/** The options of a subscription that can exclude a message. */
export const EXCLUDING_OPTIONS = ['event_types', 'filter'] as const;

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

/** Which message bodies are kept: those with a `failed` attempt, or `all`. */
export const RETAINED_MESSAGES = ['failed', 'all'] as const;
export type RetainedMessages = (typeof RETAINED_MESSAGES)[number];

/** What happens to messages that the catalogue of event types refuses: nothing, a note, or a dead letter. */
export const EVENT_VALIDATIONS = ['off', 'warn', 'reject'] as const;
export type EventValidation = (typeof EVENT_VALIDATIONS)[number];
