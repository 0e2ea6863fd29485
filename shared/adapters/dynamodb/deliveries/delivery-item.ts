import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../../config/tables.ts';
import {
  type Attempt,
  type AttemptResult,
  type ShownResult,
  shownResult,
  type Wait,
} from '../../../domain/delivery/attempt.ts';
import type {
  Delivery,
  Lease,
  NextAttempt,
  PendingStep,
  Recorded,
} from '../../../domain/delivery/delivery.ts';
import { completePolicySchema, type RetryPolicy } from '../../../domain/retry/policy.ts';
import { ADDRESS_FORBIDDEN, PAYLOAD_FAILED } from '../../../domain/retry/outcome.ts';
import {
  CONNECTION_FAULTS,
  type Outcome,
  OUTCOMES,
  type Phase,
  PHASES,
  REJECT_REASONS,
} from '../../../domain/retry/vocabulary.ts';
import { PAUSED_BY, PRESSURE_REASONS } from '../../../domain/subscription/vocabulary.ts';
import {
  ATTEMPT_TRIGGERS,
  type AttemptTrigger,
  MECHANISMS,
  CANCEL_REASONS,
  WAIT_REASONS,
  type UnknownReason,
  type WaitReason,
} from '../../../domain/delivery/vocabulary.ts';
import {
  isListed,
  parseDeliveryKey,
  toItemKey,
  toListingPartitions,
  toNotDeliveredSort,
  toOverduePartition,
} from './delivery-keys.ts';
import {
  decode,
  decodeRecord,
  keySchema,
  withLongNames,
  RECORD_VERSION,
  withShortNames,
  toTtl,
} from '../record.ts';

const names = {
  number: 'n',
  round: 'r',
  phase: 'p',
  by: 'b',
  dueAt: 'u',
  waited: 'w',
  startedAt: 's',
  durationMs: 'd',
  outcome: 'o',
  statusCode: 'c',
  error: 'e',
  snippet: 'x',
  lost: 'l',
  subscriptionChangedAt: 'v',
} as const satisfies Record<
  Exclude<keyof Attempt, 'result'> | keyof ShownResult | 'subscriptionChangedAt',
  string
>;

const phaseCodes = {
  initial: '1',
  immediate: 'i',
  pre_backoff: 'pre',
  backoff: 'b',
  post_backoff: 'post',
  manual: 'm',
} as const satisfies Record<Phase, string>;

const byCodes = {
  same_invocation: 'i',
  sqs_delay: 'q',
  scheduler: 's',
  reconcile: 'r',
} as const satisfies Record<AttemptTrigger, string>;

const outcomeCodes = { delivered: 'd', failed: 'f', rejected: 'r' } as const satisfies Record<
  Outcome,
  string
>;

const waitCodes = {
  rate_limited: 'r',
  receiver_throttled: 't',
  circuit_open: 'c',
  pull: 'p',
  paused: 's',
  lag: 'l',
} as const satisfies Record<WaitReason, string>;

function toWaitItems(waits: readonly Wait[]): [string, number][] {
  return waits.map(({ reason, ms }) => [waitCodes[reason], ms]);
}

/** Leaves out the reasons of later versions. */
const waitsSchema = z
  .array(z.tuple([z.string(), z.number()]))
  .transform((items): Wait[] =>
    items.flatMap(([code, ms]) =>
      WAIT_REASONS.filter((reason) => waitCodes[reason] === code).map((reason) => ({ reason, ms })),
    ),
  );

/** The word for a stored code. An unknown code stays, so that the schema after it rejects it. */
function wordFor(codes: Readonly<Record<string, string>>) {
  return (code: unknown): unknown => Object.entries(codes).find(([, known]) => known === code)?.[0] ?? code;
}

const attemptFields = {
  number: z.number(),
  round: z.number().default(1),
  phase: z.preprocess(wordFor(phaseCodes), z.enum(PHASES)),
  by: z.preprocess(wordFor(byCodes), z.enum(ATTEMPT_TRIGGERS)).exactOptional(),
  dueAt: z.number().exactOptional(),
  waited: waitsSchema.exactOptional(),
  startedAt: z.number(),
  durationMs: z.number(),
  outcome: z.preprocess(wordFor(outcomeCodes), z.enum(OUTCOMES)),
  statusCode: z.number().exactOptional(),
  error: z.string().exactOptional(),
  snippet: z.string().exactOptional(),
  lost: z.number().exactOptional(),
  /** Of the last attempt, if it disables: the version of the subscription that was called. */
  subscriptionChangedAt: z.number().exactOptional(),
} satisfies Record<keyof typeof names, z.ZodType>;

/**
 * An attempt in stored form, about 60 bytes without texts: the whole default policy then takes one or two
 * kilobytes.
 */
export function toAttemptItem(
  { round, result, ...attempt }: Attempt,
  subscriptionChangedAt?: number,
): Record<string, unknown> {
  return withShortNames(names, {
    ...attempt,
    ...shownResult(result),
    subscriptionChangedAt,
    round: round === 1 ? undefined : round,
    phase: phaseCodes[attempt.phase],
    by: attempt.by === undefined ? undefined : byCodes[attempt.by],
    waited: attempt.waited && toWaitItems(attempt.waited),
    outcome: outcomeCodes[attempt.outcome],
  });
}

const attemptItemSchema = withLongNames(names).pipe(z.object(attemptFields));
type AttemptItem = z.infer<typeof attemptItemSchema>;

function attemptFrom({ statusCode, error, snippet, ...item }: AttemptItem): Attempt {
  const { subscriptionChangedAt: _version, ...attempt } = item;
  if (statusCode === undefined) return { ...attempt, result: unansweredFrom(error) };
  const answer = { kind: 'answered', statusCode } as const;
  return { ...attempt, result: snippet === undefined ? answer : { ...answer, snippet } };
}

/** The result that `shownResult` shows without a status. */
function unansweredFrom(text: string | undefined): AttemptResult {
  if (text === undefined) return { kind: 'acknowledged' };
  const [, word, detail] = /^(\w+)(?:: (.*))?$/s.exec(text) ?? [];
  const detailed = detail === undefined ? {} : { detail };
  switch (word ?? '') {
    case ADDRESS_FORBIDDEN:
      return { kind: 'forbidden' };
    case PAYLOAD_FAILED:
      return { kind: 'unrendered', ...detailed };
    case 'lease_expired':
      return { kind: 'lapsed' };
    case 'nacked':
      return { kind: 'refused', ...detailed };
    default: {
      const error = CONNECTION_FAULTS.find((known) => known === word);
      // That of a later version counts as a fault of the connection.
      return error === undefined
        ? { kind: 'unanswered', error: 'connection_failed', detail: text }
        : { kind: 'unanswered', error, ...detailed };
    }
  }
}

const policyNames = {
  retries_with_no_delay: 'i',
  minimum_delay_retries: 'pre',
  minimum_delay: 'min',
  maximum_delay: 'max',
  maximum_delay_retries: 'post',
  retry_backoff_function: 'f',
  ignore_subscription_override: 'own',
  backoff_retries: 'b',
  backoff_exponent: 'exp',
  jitter: 'j',
  retry_on_status: 'on',
} as const satisfies Record<keyof RetryPolicy, string>;

/** The policy of a round, as stored on its delivery. */
export function toPolicyItem(policy: RetryPolicy): Record<string, unknown> {
  return withShortNames(policyNames, policy);
}

const policyItemSchema = withLongNames(policyNames).pipe(completePolicySchema);

/** A next attempt in stored form. Versions before pull, or before pauses, read it as one that SQS delays. */
export function toNextItem({ by, waited, ...rest }: NextAttempt): Record<string, unknown> {
  const next = { ...rest, ...(waited && { waited: toWaitItems(waited) }) };
  switch (by) {
    case 'pull':
      return { ...next, by: 'sqs_delay', pull: true };
    case 'subscription_pause':
      return { ...next, by: 'sqs_delay', paused: 'subscription' };
    case 'queue_pause':
      return { ...next, by: 'sqs_delay', paused: 'queue' };
    case 'same_invocation':
    case 'sqs_delay':
    case 'scheduler':
      return { ...next, by };
  }
}

const nextItemSchema = z
  .object({
    number: z.number(),
    phase: z.enum(PHASES),
    dueAt: z.number(),
    by: z.enum(MECHANISMS),
    waited: waitsSchema.exactOptional(),
    waitingSince: z.number().exactOptional(),
    pull: z.literal(true).exactOptional(),
    paused: z.enum(PAUSED_BY).exactOptional(),
  } satisfies Record<keyof NextAttempt | 'pull' | 'paused', z.ZodType>)
  .transform(({ pull, paused, ...next }): NextAttempt => {
    if (paused !== undefined) return { ...next, by: `${paused}_pause` };
    return pull === true ? { ...next, by: 'pull' } : next;
  });

const leaseSchema = z.object({
  owner: z.string(),
  until: z.number(),
  receivedAt: z.number().exactOptional(),
} satisfies Record<keyof Lease, z.ZodType>);

/** Stored names of pending steps. */
const STEP_NAMES = [
  'undeliverable',
  'disable_subscription',
  'exhausted_event',
] as const satisfies PendingStep['kind'][];

export function toStepNames(steps: readonly PendingStep[]): string[] {
  return steps.map(({ kind }) => kind);
}

/** What is stored with the last attempt of a step that disables the subscription. */
export function disabledVersion(steps: readonly PendingStep[] = []): number | undefined {
  const [version] = steps.flatMap((step) => (step.kind === 'disable_subscription' ? [step.version] : []));
  return version;
}

const rejectReason = z
  .union([z.enum(REJECT_REASONS), z.templateLiteral(['http_', z.int()])])
  .or(z.unknown().transform((): UnknownReason => 'unknown'));

const cancelReason = z.enum(CANCEL_REASONS).or(z.unknown().transform((): UnknownReason => 'unknown'));

/** A field with its default value (round 1, nothing lost, no pending steps) is not written. */
const recordedFields = {
  acceptedAt: z.number(),
  round: z.number().default(1),
  attempts: z.array(attemptItemSchema),
  lateResults: z.array(attemptItemSchema).default([]),
  lost: z.number().default(0),
  policy: policyItemSchema.exactOptional(),
  lease: leaseSchema.exactOptional(),
  lapsed: leaseSchema.exactOptional(),
  recoveries: z.array(z.string()).default([]),
  overdueAt: z.number().exactOptional(),
  updatedAt: z.number(),
  expiresAt: z.number(),
  retentionDays: z.number().exactOptional(),
} satisfies Record<Exclude<keyof Recorded, 'key'>, z.ZodType>;

const openFields = {
  ...recordedFields,
  slot: z
    .object({
      at: z.number(),
      epoch: z.string().exactOptional(),
      from: z.number().exactOptional(),
      reason: z.enum(PRESSURE_REASONS).optional().catch(undefined), // that of a later version counts as none
    })
    .exactOptional(),
};

const endedFields = { ...recordedFields, owed: z.array(z.enum(STEP_NAMES)).default([]) };

/** The key attributes of an item, which every index projects. */
export const deliveryKeySchema = keySchema(parseDeliveryKey, 'pk');

/** Ignores what a record of an earlier version has beyond its status, such as the slot of a cancelled delivery. */
const deliverySchema = z.discriminatedUnion('status', [
  z.object({ ...openFields, status: z.literal('pending'), next: nextItemSchema.exactOptional() }),
  z.object({ ...openFields, status: z.literal('retrying'), next: nextItemSchema }),
  z.object({ ...endedFields, status: z.literal('delivered') }),
  z.object({ ...endedFields, status: z.literal('rejected'), reason: rejectReason }),
  z.object({ ...endedFields, status: z.literal('exhausted'), reason: z.literal('retries_exhausted') }),
  z.object({ ...endedFields, status: z.literal('cancelled'), reason: cancelReason }),
]);

/** @throws UnreadableRecordError */
export function toDelivery(item: unknown): Delivery {
  const key = decode(deliveryKeySchema, item);
  const record = decodeRecord(deliverySchema, item);
  const attempts = record.attempts.map(attemptFrom);
  const lateResults = record.lateResults.map(attemptFrom);
  if (!('owed' in record)) return { ...record, key, attempts, lateResults, pendingSteps: [] };
  const { owed, ...ended } = record;
  const reason = 'reason' in record ? record.reason : undefined;
  const version = record.attempts.at(-1)?.subscriptionChangedAt;
  const pendingSteps = owed.map((name) => stepFrom(name, reason, version));
  return { ...ended, key, attempts, lateResults, pendingSteps };
}

function stepFrom(
  kind: PendingStep['kind'],
  reason: string | undefined,
  version: number | undefined,
): PendingStep {
  if (kind !== 'disable_subscription') return { kind };
  // A delivered one has no reason, and a 2xx disables only on request.
  return {
    kind,
    reason: reason === 'gone' ? 'gone' : 'disable_requested',
    ...(version === undefined ? {} : { version }),
  };
}

/** The complete item of a new record. */
export function toDeliveryItem(delivery: Delivery): Record<string, unknown> {
  const { key, attempts, lateResults, next, policy, pendingSteps, ...fields } = delivery;
  return {
    ...toItemKey(key),
    v: RECORD_VERSION,
    [deliveryIndexes.byQueue.sort]: toNotDeliveredSort(key, delivery.acceptedAt),
    ...(isListed(delivery) ? toListingPartitions(key) : {}),
    ...(delivery.overdueAt === undefined
      ? {}
      : { [deliveryIndexes.overdue.partition]: toOverduePartition(key, delivery) }),
    ...withoutDefaults({
      ...fields,
      attempts: attempts.map((attempt, index, { length }) =>
        toAttemptItem(attempt, index === length - 1 ? disabledVersion(pendingSteps) : undefined),
      ),
      lateResults: lateResults.map((attempt) => toAttemptItem(attempt)),
      next: next && toNextItem(next),
      policy: policy && toPolicyItem(policy),
      owed: toStepNames(pendingSteps),
    }),
    [ttlAttribute]: toTtl(delivery.expiresAt),
  };
}

function withoutDefaults(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isDefault(name, value)));
}

/** Whether a field is omitted from the item because reading it yields this default. */
export function isDefault(name: string, value: unknown): boolean {
  if (value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0 && name !== 'attempts';
  return (name === 'round' && value === 1) || (name === 'lost' && value === 0);
}
