import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import { isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import type { SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { isSubscriptionId, subscriptionKey } from '../paths.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody } from '../route.ts';
import { newConfirmation } from './ask-confirmation.ts';
import { changePresent, type ChangeResult } from './change.ts';

/** In characters; tokens are shorter. */
const MAX_TOKEN_LENGTH = 256;

const confirmationQuery = z.object({
  token: z.string().min(1).max(MAX_TOKEN_LENGTH).describe('The token of the confirmation link.'),
});

const confirmationSchema = z.strictObject({
  confirmed: z
    .boolean('must be true or false')
    .describe(
      'true confirms the subscription. false revokes the confirmation: it receives nothing until confirmed.',
    ),
});

const confirmedSchema = z.object({ confirmed: z.literal(true) });

const CONFIRM = '/v2/queues/{queue}/subscriptions/{subscription}/confirm';

/** GET for a person who follows the link, POST for a program. */
const OPERATIONS = [
  { key: `GET ${CONFIRM}`, id: 'followConfirmation' },
  { key: `POST ${CONFIRM}`, id: 'confirmSubscription' },
] as const;

/**
 * The target of confirmation links, open to every caller with a token; and a PUT for authorised callers, without a
 * token. Every refusal of the open routes is the same, so that callers cannot learn from it which subscriptions exist.
 */
export function addConfirmationRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute({
    key: `PUT ${CONFIRM}`,
    id: 'setConfirmation',
    summary: 'Confirms a subscription without its link, or revokes its confirmation',
    body: jsonBody(confirmationSchema),
    answers: { 204: noBody('The subscription is in the requested state.') },
    handle: async ({ params, body: { confirmed }, caller }) => {
      const key = subscriptionKey(params);
      const result = await setConfirmed(dependencies, key, confirmed);
      if (result.kind === 'missing') throw notFound('such subscription');
      if (result.kind === 'changed')
        dependencies.audit(caller, {
          change: confirmed ? 'subscription_confirmed' : 'subscription_unconfirmed',
          ...key,
        });
      return { status: 204 };
    },
  });

  for (const operation of OPERATIONS) {
    addRoute({
      ...operation,
      summary: 'Confirms a subscription: the target of the link that the subscriber received',
      query: confirmationQuery,
      answers: { 200: json('The subscription is confirmed.', confirmedSchema) },
      refuses: [404],
      open: true,
      handle: async (context) => {
        const { queue, subscription: subscriptionId } = context.params;
        const query = confirmationQuery.safeParse(context.raw.query);
        const isConfirmed =
          query.success &&
          isQueueName(queue) &&
          isSubscriptionId(subscriptionId) &&
          (await confirm(dependencies, { queue, subscriptionId }, query.data.token));
        if (!isConfirmed) throw notFound('subscription that waits for this confirmation');
        dependencies.audit(context.caller, { change: 'subscription_confirmed', queue, subscriptionId });
        return jsonAnswer({ confirmed: true } satisfies z.input<typeof confirmedSchema>);
      },
    });
  }
}

/** Confirms a subscription if the token is the one from its link. Each token works once. */
export async function confirm(context: ChangeContext, key: SubscriptionKey, token: string): Promise<boolean> {
  const confirmedAt = context.clock.now();
  const result = await changePresent(context, key, ({ unconfirmed, ...subscription }) =>
    unconfirmed !== undefined && isTokenOf(unconfirmed, token) ? { ...subscription, confirmedAt } : undefined,
  );
  return result.kind === 'changed';
}

/**
 * Confirms a subscription manually, or revokes its confirmation, after which it receives nothing. Idempotent.
 */
export function setConfirmed(
  context: ChangeContext,
  key: SubscriptionKey,
  confirmed: boolean,
): Promise<ChangeResult> {
  const now = context.clock.now();
  const { tokenHash, at } = newConfirmation(context).unconfirmed;
  return changePresent(context, key, ({ unconfirmed, ...subscription }) => {
    if (confirmed) return unconfirmed && { ...subscription, confirmedAt: now };
    return unconfirmed === undefined ? { ...subscription, unconfirmed: { tokenHash, at } } : undefined;
  });
}
