import * as z from 'zod';
import { completePolicySchema } from '../../domain/retry/policy.ts';
import { POLICY_SOURCES } from '../../domain/retry/vocabulary.ts';
import type { DeliveryDetail } from '../../domain/delivery/planned-attempts.ts';
import { attemptView, deliveryView, deliveryViewSchema } from './delivery.ts';
import { timeText, timeView } from '../fields.ts';

/** A delivery with its policy and its planned attempts. */
export const deliveryDetailSchema = deliveryViewSchema.extend({
  /** The policy in force; before the first failure, the one that would apply. */
  policy: completePolicySchema,
  /** Source of the policy; `delivery`: stored at the round's first failure. */
  policySource: z.enum(['delivery', ...POLICY_SOURCES]),
  /** Remaining attempts of the round, if each failed at its due time. */
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
