import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import { confirm } from './change.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { isSubscriptionId } from '../paths.ts';
import type { confirmedSchema } from './answers.ts';

/** Longer than any that we give out. */
const MAX_TOKEN_LENGTH = 256;

export const confirmationQuery = z.object({ token: z.string().min(1).max(MAX_TOKEN_LENGTH) });

/**
 * Where a confirmation's link leads, for whoever has it: nobody is authorised here. Whatever is wrong, the answer is the
 * same, so that nothing can be found out by asking.
 */
export function addConfirmationRoute(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  api.on(['GET', 'POST'], '/v2/queues/:queue/subscriptions/:subscription/confirm', async (context) => {
    const { queue, subscription: subscriptionId } = context.req.param();
    const asked = confirmationQuery.safeParse(context.req.query());
    const isConfirmed =
      asked.success &&
      isQueueName(queue) &&
      isSubscriptionId(subscriptionId) &&
      (await confirm(dependencies, { queue, subscriptionId }, asked.data.token));
    if (!isConfirmed) throw notFound('subscription that waits for this confirmation');
    audit(context.env.caller, { change: 'subscription_confirmed', queue, subscriptionId });
    const answer: z.input<typeof confirmedSchema> = { confirmed: true };
    return context.json(answer);
  });
}
