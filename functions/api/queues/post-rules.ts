import * as z from 'zod';
import { MAX_DELAY_SECONDS } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { TEN_YEARS_SECONDS, seconds } from '../fields.ts';

/** Zaqar's metadata for posts: default ttl, default delay and the largest size of a post. */
export const postRulesSchema = z.object({
  _default_message_ttl: seconds(1, TEN_YEARS_SECONDS)
    .describe('The ttl of posted messages that have none, in seconds.')
    .exactOptional(),
  _default_message_delay: seconds(0, MAX_DELAY_SECONDS)
    .describe('The delay of posted messages that have none, in seconds.')
    .exactOptional(),
  _max_messages_post_size: z
    .int('must be a whole number of bytes')
    .min(1, 'must be at least 1 byte')
    .describe('The largest size of a post, in bytes.')
    .exactOptional(),
});

/** In seconds and bytes. */
type PostRules = z.output<typeof postRulesSchema>;

/** The valid rules in a queue's metadata. Ignores invalid ones, which earlier versions stored unchecked. */
export function toPostRules(metadata: Record<string, unknown>): PostRules {
  const valid = Object.entries(postRulesSchema.shape).filter(
    ([name, rule]) => rule.safeParse(metadata[name]).success,
  );
  return postRulesSchema.parse(Object.fromEntries(valid.map(([name]) => [name, metadata[name]])));
}
