import type { Outcome } from './outcome.ts';

/** Where an attempt stands in its round. `manual` is an attempt asked for by hand. */
export type Phase = 'initial' | 'immediate' | 'pre_backoff' | 'backoff' | 'post_backoff' | 'manual';

/** What brings the next attempt about. */
export type Mechanism = 'same_invocation' | 'sqs_delay' | 'scheduler';

/** One HTTP request of a delivery, as kept on record. Times are milliseconds since the epoch. */
export type Attempt = {
  number: number;
  round: number;
  phase: Phase;
  startedAt: number;
  durationMs: number;
  outcome: Outcome;
  statusCode?: number;
  error?: string;
  /** The first bytes of the answer's body, kept only where they differ from the attempt before. */
  snippet?: string;
  /** How often a lease ran out on this attempt: requests that may have reached the subscriber unrecorded. */
  lost?: number;
};
