import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS } from '../retry/attempt-duration.ts';
import { RETENTION_DAYS } from '../retention.ts';

const SECONDS_RULE = `must be an integer number of seconds from ${ATTEMPT_TIMEOUT_SECONDS.least} to ${ATTEMPT_TIMEOUT_SECONDS.most}`;
const DAYS_RULE = `must be an integer number of days from ${RETENTION_DAYS.least} to ${RETENTION_DAYS.most}`;
const COUNT_RULE = 'must be an integer number of subscriptions from 1 to 1000000';

/** Metadata of a queue by which it narrows what the deployment allows. A value above that of the deployment is inert. */
export const queueLimitFields = {
  _attempt_timeout: z
    .int(SECONDS_RULE)
    .min(ATTEMPT_TIMEOUT_SECONDS.least, SECONDS_RULE)
    .max(ATTEMPT_TIMEOUT_SECONDS.most, SECONDS_RULE)
    .describe('The timeout of an attempt in seconds, if less than the setting `attemptTimeoutSeconds`.')
    .exactOptional(),
  _max_subscriptions: z
    .int(COUNT_RULE)
    .min(1, COUNT_RULE)
    .max(1_000_000, COUNT_RULE)
    .describe('The most subscriptions, if less than the setting `maxSubscriptionsPerQueue`.')
    .exactOptional(),
  _retention_days: z
    .int(DAYS_RULE)
    .min(RETENTION_DAYS.least, DAYS_RULE)
    .max(RETENTION_DAYS.most, DAYS_RULE)
    .describe('How long messages and deliveries stay on record, at most the setting `retentionDays`.')
    .exactOptional(),
};

/** A limit in the metadata of a queue. Ignores an invalid one, which earlier versions stored unchecked. */
export function queueLimitOf(
  name: keyof typeof queueLimitFields,
  metadata: Record<string, unknown> = {},
): number | undefined {
  const parsed = queueLimitFields[name].safeParse(metadata[name]);
  return parsed.success ? parsed.data : undefined;
}
