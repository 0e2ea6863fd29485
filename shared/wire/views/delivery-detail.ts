import * as z from 'zod';
import { completePolicySchema } from '../../domain/retry/policy.ts';
import { POLICY_SOURCES } from '../../domain/vocabulary.ts';
import type { DeliveryDetail } from '../../domain/retry/planned-attempts.ts';
import { attemptView, deliveryView, deliveryViewSchema } from './delivery.ts';
import { timeText, timeView } from '../fields.ts';

/** One delivery with all that can be told of it. */
export const deliveryDetailSchema = deliveryViewSchema.extend({
  /** The one that is followed; where none is on record yet, the one that would be. */
  policy: completePolicySchema,
  /** Where the policy is from: `delivery` where it was kept at the round's first failure. */
  policySource: z.enum(['delivery', ...POLICY_SOURCES]),
  /** The rest of the round, if each attempt failed at the moment it was due. */
  planned: z.array(z.object({ number: z.int().positive(), phase: attemptView.shape.phase, dueAt: timeView })),
});

type DeliveryDetailView = z.infer<typeof deliveryDetailSchema>;

export function deliveryDetailView({
  delivery,
  policy,
  policySource,
  planned,
}: DeliveryDetail): DeliveryDetailView {
  return {
    ...deliveryView(delivery),
    policy,
    policySource,
    planned: planned.map((attempt) => ({ ...attempt, dueAt: timeText(attempt.dueAt) })),
  };
}
