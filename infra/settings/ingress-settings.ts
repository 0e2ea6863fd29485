import { z } from 'zod';
import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message/message.ts';
import { listOf, valueOf } from './rules.ts';

/** A function's whole environment is at most 4 KB (AWS Lambda quotas), so a setting of free length is bounded. */
const LONGEST_ROUTES = 1500;

/** For the same reason; the account of each is added to it. */
const LONGEST_SOURCES = 500;
const MOST_SOURCES = 10;

/** A queue's policy holds at most 32 KB (Amazon SQS quotas), and a screen should hold who may send. */
const MOST_SENDERS = 20;

const ROUTES_RULE = `must be a JSON object whose values are queue names (${QUEUE_NAME_RULE})`;

const SOURCES_RULE = 'must be a list of {"bucket", "prefix"?, "owner"?, "keyArn"?}, JSON';
const BUCKET_RULE = 'must be the name of a general purpose bucket';
const PREFIX_RULE = 'must be at most 200 characters without * ? $';
const OWNER_RULE = 'must be the 12 digits of an account';
const KEY_RULE = 'must be the ARN of a KMS key';
const SENDER_RULE = 'must be the ARN of an SNS topic or of an EventBridge rule';

const payloadSource = z.strictObject(
  {
    bucket: z.string(BUCKET_RULE).regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, BUCKET_RULE),
    // It becomes part of an ARN, in which these stand for more than themselves.
    prefix: z
      .string(PREFIX_RULE)
      .regex(/^[^*?$]{0,200}$/, PREFIX_RULE)
      .default(''),
    owner: z
      .string(OWNER_RULE)
      .regex(/^[0-9]{12}$/, OWNER_RULE)
      .optional(),
    keyArn: z
      .string(KEY_RULE)
      .regex(/^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key\/[A-Za-z0-9-]+$/, KEY_RULE)
      .optional(),
  },
  SOURCES_RULE,
);

const SENDER =
  /^arn:[a-z-]+:(?:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+|events:[a-z0-9-]+:[0-9]{12}:rule\/[A-Za-z0-9_./-]+)$/;

/** What is taken in, and how it is read. */
export const ingressSettings = {
  /** Queue of an event that names none, by its source, detail-type or topic. JSON. Default none. */
  ingressRoutes: z
    .preprocess(
      valueOf,
      z
        .record(z.string(), z.string(ROUTES_RULE).refine(isQueueName, { error: ROUTES_RULE }), ROUTES_RULE)
        .refine((routes) => JSON.stringify(routes).length <= LONGEST_ROUTES, {
          error: `must be at most ${LONGEST_ROUTES} characters as JSON`,
        }),
    )
    .default({}),
  /**
   * Where a message's data may lie that it only refers to: buckets of producers in this region, each with the prefix of its
   * keys (default all), the account that it belongs to (default ours) and, if it is encrypted with a KMS key, that key. JSON.
   * Default none.
   */
  payloadSources: z
    .preprocess(
      valueOf,
      z
        .array(payloadSource, SOURCES_RULE)
        .max(MOST_SOURCES, `must be at most ${MOST_SOURCES}`)
        .refine((sources) => JSON.stringify(sources).length <= LONGEST_SOURCES, {
          error: `must be at most ${LONGEST_SOURCES} characters as JSON`,
        }),
    )
    .default([]),
  /** SNS topics and EventBridge rules that may send to the ingress queue: their ARNs. Default none. */
  ingressSenders: z
    .preprocess(
      listOf,
      z
        .array(z.string(SENDER_RULE).regex(SENDER, SENDER_RULE), SENDER_RULE)
        .max(MOST_SENDERS, `must be at most ${MOST_SENDERS}`),
    )
    .default([]),
};
