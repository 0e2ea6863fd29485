import * as z from 'zod';
import { TERMINAL_STATUSES } from '../../domain/delivery/vocabulary.ts';
import { REDRIVEN_QUEUES } from '../../domain/work-queues.ts';
import { timeView } from '../fields.ts';

/** Failures that the console's local server reports, in addition to the API's error codes. */
export const consoleFailureCodes = [
  /** The page has no token, or one of an earlier run of the command. */
  'token_refused',
  /** The request does not come from the page, or the caller has no permission. */
  'forbidden',
  /** The caller may not read or change the SQS queue. */
  'sqs_forbidden',
  'no_deployment',
  /** Only the address of the API is known, so that its SQS queues are not. */
  'deployment_not_named',
  'no_credentials',
  'credentials_expired',
  /** The API requires a valid bearer token. */
  'unauthorized',
  /** API Gateway throttled the request before it had any effect. */
  'too_many_requests',
  /** API Gateway responds, but the function behind it does not. */
  'unavailable',
  'unreachable',
  'timeout',
] as const;

export type ConsoleFailureCode = (typeof consoleFailureCodes)[number];

/** Environment of the console page: `GET /api-local/info`. */
export const consoleInfoSchema = z.object({
  /** Display name. Null: no deployment; only features that need none work. */
  deployment: z.string().nullable(),
  region: z.string().nullable(),
  /** Version of the deployment; null if unknown. */
  version: z.string().nullable(),
  commandVersion: z.string(),
  /** How its user runs the command, to paste: `npx posthaste`. */
  command: z.string(),
  apiUrl: z.string().exactOptional(),
  /** Whether this is a local deployment. */
  isLocal: z.boolean(),
  /** Why there is no deployment. */
  problem: z.object({ code: z.string(), message: z.string() }).exactOptional(),
});

export type ConsoleInfo = z.infer<typeof consoleInfoSchema>;

/** An undeliverable notice of such a delivery needs nothing more. `ended_again`: it has a newer notice. */
export const SETTLED_NOTICES = ['delivered', 'cancelled', 'ended_again', 'subscription_deleted'] as const;

/** What became of a delivery since its undeliverable notice. */
const NOTICE_STATES = [
  ...TERMINAL_STATUSES,
  'ended_again',
  'subscription_deleted',
  'open',
  'not_on_record',
] as const;
export type NoticeState = (typeof NOTICE_STATES)[number];

/** A dead letter or an undeliverable notice, as `posthaste deadletters list` and the console show it. */
export const deadLetterViewSchema = z.object({
  which: z.enum(REDRIVEN_QUEUES),
  /** SQS message id. */
  id: z.string(),
  /** First send; if a function sent the dead letter, the time of that. */
  sentAt: timeView,
  /** Times SQS handed it out, looks included. */
  receives: z.int().exactOptional(),
  /** Absent if SQS moved the message after too many receives. */
  reason: z.string().exactOptional(),
  queue: z.string().exactOptional(),
  messageId: z.string().exactOptional(),
  /** Several for a job of several first attempts. */
  subscriptionIds: z.array(z.string()),
  /** What became of the delivery since its notice. Only for notices. */
  state: z.enum(NOTICE_STATES).exactOptional(),
  bytes: z.int(),
  /** The beginning of the data on one line, without credentials. */
  excerpt: z.string(),
});

export type DeadLetterView = z.infer<typeof deadLetterViewSchema>;

/** A whole dead letter: `GET /api-local/dead-letters/{which}/{id}`. Credentials are redacted. */
export const deadLetterDetailSchema = deadLetterViewSchema.extend({
  body: z.string(),
  attributes: z.record(z.string(), z.string()),
});

export type DeadLetterDetail = z.infer<typeof deadLetterDetailSchema>;

/** Approximate counts by queue: `GET /api-local/dead-letters`. `hidden`: another program has received them. */
export const deadLetterCountsSchema = z.object({
  queues: z.array(z.object({ which: z.enum(REDRIVEN_QUEUES), visible: z.int(), hidden: z.int() })),
});

export type DeadLetterCounts = z.infer<typeof deadLetterCountsSchema>;

/** `hiddenUntil`: when hidden messages are visible again at the latest. */
const hiddenFields = { hidden: z.int(), hiddenUntil: timeView.exactOptional() };

/** A look at a queue: `GET /api-local/dead-letters/{which}`. `total`: about how many it has. */
export const deadLetterLookSchema = z.object({
  /** The deployment with account and region, where these are known: the API may be given by its address alone. */
  place: z.string(),
  deadLetters: z.array(deadLetterViewSchema),
  total: z.int(),
  /** Whether all visible messages were looked at. */
  complete: z.boolean(),
  ...hiddenFields,
  /** Why the states of the deliveries are missing. */
  statesProblem: z.string().exactOptional(),
});

export type DeadLetterLook = z.infer<typeof deadLetterLookSchema>;

/**
 * Redrives or deletes chosen dead letters: `POST /api-local/dead-letters/{which}/redrive` or `…/delete`. Takes whole SQS
 * message ids: the beginning of one could choose others.
 */
export const deadLetterChoiceSchema = z.strictObject({ ids: z.array(z.guid()).min(1).max(1000) });

/** `handled`: redriven or deleted. `settled`, `skipped`: counts by reason. */
export const deadLetterResultSchema = z.object({
  handled: z.int(),
  settled: z.record(z.string(), z.int()),
  skipped: z.record(z.string(), z.int()),
  /** Chosen ones that were not found: removed meanwhile, or hidden. */
  missing: z.int(),
  ...hiddenFields,
});

export type DeadLetterResult = z.infer<typeof deadLetterResultSchema>;
