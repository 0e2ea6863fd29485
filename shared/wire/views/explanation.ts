import { toSubscriber } from '../../domain/subscription/destination.ts';
import * as z from 'zod';
import type { ExplainedPair, Explanation } from '../../domain/delivery/explain.ts';
import { EXCLUDING_OPTIONS } from '../../domain/subscription/vocabulary.ts';
import { EXPLAIN_VERDICTS } from '../../domain/delivery/vocabulary.ts';
import { deliverySummarySchema } from './delivery.ts';
import { deliverySummary } from './shown-delivery.ts';

/** What became of a message for one subscription. */
export const explainedSchema = z.object({
  subscriptionId: z.string(),
  name: z.string().exactOptional(),
  /** Its URL; absent once a deleted subscription is removed. */
  subscriber: z.string().exactOptional(),
  verdict: z.enum(EXPLAIN_VERDICTS),
  /** False: what is kept does not decide it; `detail` says why. */
  certain: z.boolean(),
  detail: z.string().exactOptional(),
  /** For `filtered`: the option that excluded the message. `path`: the first field of the filter without a match. */
  rule: z.object({ by: z.enum(EXCLUDING_OPTIONS), path: z.string().exactOptional() }).exactOptional(),
  delivery: deliverySummarySchema.exactOptional(),
});

export type ExplainedSubscription = Explanation & ExplainedPair & { subscriptionId: string };

export function explainedView({
  subscription,
  delivery,
  ...explained
}: ExplainedSubscription): z.infer<typeof explainedSchema> {
  return {
    ...explained,
    ...(subscription?.name === undefined ? {} : { name: subscription.name }),
    ...(subscription === undefined ? {} : { subscriber: toSubscriber(subscription.destination) }),
    ...(delivery === undefined ? {} : { delivery: deliverySummary(delivery) }),
  };
}
