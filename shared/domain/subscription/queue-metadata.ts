import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS } from '../retry/attempt-duration.ts';
import { RETENTION_DAYS } from '../retention.ts';
import { EVENT_VALIDATIONS, RETAINED_MESSAGES } from './vocabulary.ts';

function integer(what: string, { least, most }: { least: number; most: number }) {
  const rule = `must be an integer number of ${what} from ${least} to ${most}`;
  return z.int(rule).min(least, rule).max(most, rule);
}

/**
 * Metadata of a queue that has a meaning: limits by which it narrows what the deployment allows (one above that of the
 * deployment is inert), switches, and what applies in place of a setting.
 */
export const queueMetadataSchema = z.object({
  _confirm_subscriptions: z
    .boolean('must be true or false')
    .describe('Whether new subscribers must confirm before they receive messages.')
    .exactOptional(),
  _attempt_timeout: integer('seconds', ATTEMPT_TIMEOUT_SECONDS)
    .describe('The timeout of an attempt in seconds, if less than the setting `attemptTimeoutSeconds`.')
    .exactOptional(),
  _max_subscriptions: integer('subscriptions', { least: 1, most: 1_000_000 })
    .describe('The most subscriptions, if less than the setting `maxSubscriptionsPerQueue`.')
    .exactOptional(),
  _retention_days: integer('days', RETENTION_DAYS)
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
  _retain_messages: z
    .enum(RETAINED_MESSAGES, `must be ${RETAINED_MESSAGES.join(' or ')}`)
    .describe('Which message bodies are kept, in place of the setting `retainMessages`.')
    .exactOptional(),
  _event_validation: z
    .enum(EVENT_VALIDATIONS, `must be ${EVENT_VALIDATIONS.join(' or ')}`)
    .describe('How messages are checked against the catalogue, in place of the setting `eventValidation`.')
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
