import * as z from 'zod';
import { authSchema } from '../../shared/domain/subscription/auth.ts';
import { OUTCOMES } from '../../shared/domain/retry/vocabulary.ts';

/** The messages between the processes of a run. */

export const toFunction = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start'),
    attemptTimeoutMs: z.number(),
    trustedCertificates: z.array(z.string()),
    environments: z.object({ first: z.number(), retry: z.number() }),
    subscriptions: z.array(z.object({ id: z.string(), url: z.string(), auth: authSchema.optional() })),
    /** Whether failures are retried, by the default policy. */
    retries: z.boolean(),
  }),
  /** Bodies of messages on the delivery queue. */
  z.object({ kind: z.literal('jobs'), bodies: z.array(z.string()) }),
  /** Requests the memory figures. `isIdle`: nothing is in progress, so the current memory counts as idle. */
  z.object({ kind: z.literal('measure'), isIdle: z.boolean() }),
]);

const attempt = z.object({
  kind: z.literal('attempt'),
  subscriptionId: z.string(),
  number: z.number(),
  outcome: z.enum(OUTCOMES),
  statusCode: z.number().optional(),
  error: z.string().optional(),
  durationMs: z.number(),
  /** Milliseconds from the due time to the request. A first attempt is due when its job is queued. */
  waitedMs: z.number(),
  /** Milliseconds from the due time to the record of the attempt. */
  doneMs: z.number(),
});

const memory = z.object({
  kind: z.literal('memory'),
  /** Resident memory in bytes: idle, and at its peak. */
  idle: z.number(),
  peak: z.number(),
  /** The maximum of environments of the delivery queue that were busy at the same time. */
  mostBusy: z.number(),
});

export const fromFunction = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  attempt,
  z.object({
    kind: z.literal('invocation'),
    queue: z.enum(['first', 'retry']),
    milliseconds: z.number(),
    /** Messages that were not acknowledged, so that SQS would deliver them again. */
    failed: z.number(),
  }),
  memory,
]);

export const toReceivers = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start_healthy') }),
  z.object({ kind: z.literal('start_hostile'), names: z.array(z.string()) }),
  z.object({ kind: z.literal('count') }),
]);

export const fromReceivers = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('listening'),
    /** The origin of each receiver, without a path. */
    origins: z.record(z.string(), z.string()),
    trustedCertificate: z.string(),
  }),
  z.object({ kind: z.literal('connections'), counts: z.record(z.string(), z.number()) }),
]);

export type ToFunction = z.infer<typeof toFunction>;
export type FromFunction = z.infer<typeof fromFunction>;
export type AttemptSeen = z.infer<typeof attempt>;
export type Memory = z.infer<typeof memory>;
export type ToReceivers = z.infer<typeof toReceivers>;
export type FromReceivers = z.infer<typeof fromReceivers>;
