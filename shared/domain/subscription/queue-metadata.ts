import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS } from '../retry/attempt-duration.ts';
import { RETENTION_DAYS } from '../retention.ts';

const SECONDS_RULE = `must be an integer number of seconds from ${ATTEMPT_TIMEOUT_SECONDS.least} to ${ATTEMPT_TIMEOUT_SECONDS.most}`;
const DAYS_RULE = `must be an integer number of days from ${RETENTION_DAYS.least} to ${RETENTION_DAYS.most}`;
const COUNT_RULE = 'must be an integer number of subscriptions from 1 to 1000000';

/**
 * Metadata of a queue that has a meaning for its subscriptions: limits by which it narrows what the deployment allows (one
 * above that of the deployment is inert), and switches.
 */
export const queueMetadataSchema = z.object({
  _confirm_subscriptions: z
    .boolean('must be true or false')
    .describe('Whether new subscribers must confirm before they receive messages.')
    .exactOptional(),
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
  _adapt_to_throttling: z
    .boolean()
    .describe('`adapt_to_throttling` of the subscriptions that do not set it.')
    .exactOptional(),
  _hold_while_down: z
    .boolean()
    .describe('`hold_while_down` of the subscriptions that do not set it.')
    .exactOptional(),
});

type QueueMetadata = Required<z.infer<typeof queueMetadataSchema>>;

const members: { [Name in keyof QueueMetadata]: z.ZodType<QueueMetadata[Name]> } = queueMetadataSchema.shape;

/** A member of a queue's metadata. Ignores an invalid one, which earlier versions stored unchecked. */
export function queueMember<Name extends keyof QueueMetadata>(
  name: Name,
  metadata: Record<string, unknown> = {},
): QueueMetadata[Name] | undefined {
  return members[name].safeParse(metadata[name]).data;
}
