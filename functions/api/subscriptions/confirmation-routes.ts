import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { isSubscriptionId } from '../paths.ts';
import { type AddRoute, json } from '../route.ts';
import { confirm } from './change.ts';

/** Longer than any token that we give out. */
const MAX_TOKEN_LENGTH = 256;

const confirmationQuery = z.object({ token: z.string().min(1).max(MAX_TOKEN_LENGTH) });

const confirmedSchema = z.object({ confirmed: z.literal(true) });

/** GET for a link that is followed, POST for a program. */
const OPERATIONS = [
  { method: 'GET', id: 'followConfirmation' },
  { method: 'POST', id: 'confirmSubscription' },
] as const;

/**
 * The target of a confirmation link, open to every caller who has it. Every refusal gets the same answer, so that a caller
 * learns nothing from it.
 */
export function addConfirmationRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  for (const operation of OPERATIONS) {
    addRoute(
      {
        ...operation,
        path: '/v2/queues/:queue/subscriptions/:subscription/confirm',
        tag: 'subscriptions',
        summary: 'Where the link leads that a subscriber is sent to confirm its subscription',
        query: confirmationQuery,
        answers: { 200: json('It is confirmed.', confirmedSchema) },
        refuses: [404],
        open: true,
      },
      async (context) => {
        const { queue, subscription: subscriptionId } = context.req.param();
        const query = confirmationQuery.safeParse(context.req.query());
        const isConfirmed =
          query.success &&
          isQueueName(queue) &&
          isSubscriptionId(subscriptionId) &&
          (await confirm(dependencies, { queue, subscriptionId }, query.data.token));
        if (!isConfirmed) throw notFound('subscription that waits for this confirmation');
        dependencies.audit(context.env.caller, { change: 'subscription_confirmed', queue, subscriptionId });
        const answer: z.input<typeof confirmedSchema> = { confirmed: true };
        return context.json(answer);
      },
    );
  }
}
