/**
 * The closed lists of words about policies, attempts and answers. Each type derives from its list, each zod enum where it
 * is parsed (`z.enum(JITTERS)`). Code that handles every word is a `Record` or a `switch` without default, so a new word
 * fails to compile there. Each noun has such a file.
 */

/** Position of an attempt in its round. `manual`: requested by an operator. */
export const PHASES = ['initial', 'immediate', 'pre_backoff', 'backoff', 'post_backoff', 'manual'] as const;
export type Phase = (typeof PHASES)[number];

/** `failed`: worth a retry. `rejected`: the subscriber's answer is final. */
export const OUTCOMES = ['delivered', 'failed', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why there was no usable response. Stored and shown to the operator. */
export const CONNECTION_FAULTS = [
  'timeout',
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'tls_failed',
  'invalid_response',
  'connection_failed',
  /** The subscriber's authorisation server gave no token: no request was sent. */
  'auth_failed',
] as const;
export type ConnectionFault = (typeof CONNECTION_FAULTS)[number];

/** What a subscriber can ask for in the header `webhook-delivery` of its answer. */
export const DELIVERY_REQUESTS = ['disable', 'abort-message'] as const;
export type DeliveryRequest = (typeof DELIVERY_REQUESTS)[number];

/**
 * Why a rejection is final. `address_forbidden`: our address guard refused to connect. `disable_requested` and
 * `abort_requested`: the header `webhook-delivery`. `payload_failed`: it could not be rendered, so nothing was sent.
 */
export const REJECT_REASONS = [
  'gone',
  'disable_requested',
  'abort_requested',
  'address_forbidden',
  'payload_failed',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number] | `http_${number}`;

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

/** Names of complete policies (retry/policy.ts). */
export const POLICY_PRESETS = ['quick', 'default', 'standard-webhooks', 'patient'] as const;
export type PresetName = (typeof POLICY_PRESETS)[number];

/** Source of the policy in force. */
export const POLICY_SOURCES = ['subscription', 'queue', 'defaults'] as const;
export type PolicySource = (typeof POLICY_SOURCES)[number];
