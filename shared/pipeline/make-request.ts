import { withBoundedText, type Attempt } from '../domain/attempt.ts';
import type { Delivery } from '../domain/delivery.ts';
import { ADDRESS_FORBIDDEN, isGone, outcomeOf, type Reply } from '../domain/outcome.ts';
import { secretsInForce } from '../domain/secret-rotation.ts';
import { attemptTimeoutOf, type Subscription } from '../domain/subscription.ts';
import { webhookRequest } from '../domain/webhook-request.ts';
import type { DeliverContext } from './deliver-context.ts';
import type { HeldDelivery } from './held-delivery.ts';
import type { OpenedSecret } from './opened-secrets.ts';
import type { Turn } from './turn.ts';
import { policyFor } from './verdict.ts';

/** All that a request needs, at the moment that it goes. */
export type Going = {
  subscription: Subscription;
  secrets: readonly OpenedSecret[];
  turn: Extract<Turn, { kind: 'now' }>;
};

/** `dueAt`: when it was due, in milliseconds since the epoch; undefined for a first attempt that nothing delayed. */
export type Made = { attempt: Attempt; reply: Reply; dueAt: number | undefined };

/** Makes the request that is due. Whatever the subscriber does is a result, never an error. */
export const makeRequest = async (
  context: DeliverContext,
  held: HeldDelivery,
  { subscription, secrets: opened, turn }: Going,
): Promise<Made> => {
  const { ports, settings } = context;
  const { delivery, message } = held;
  const startedAt = ports.clock.now();
  const dueAt = dueOf(delivery, turn);
  const secrets = secretsInForce(opened, startedAt).map(({ secret }) => secret);
  const reply = await ports.subscriber.post(
    webhookRequest(message, subscription, { startedAt, userAgent: settings.userAgent, secrets }),
    attemptTimeoutOf(subscription, settings.attemptTimeoutMs),
  );
  const attempt: Attempt = {
    number: delivery.attempts.length + 1,
    round: delivery.round,
    phase: delivery.next?.phase ?? 'initial',
    ...(held.by === undefined ? {} : { by: held.by }),
    ...(delivery.next === undefined || dueAt === undefined ? {} : { dueAt }),
    startedAt,
    durationMs: ports.clock.now() - startedAt,
    outcome: outcomeOf(reply, policyFor(context, held).retry_on_status),
    ...detailsOf(reply),
    ...(delivery.lost > 0 ? { lost: delivery.lost } : {}),
    ...(isGone(reply) ? wentBy(subscription) : {}),
  };
  return { attempt: withBoundedText(attempt, delivery.attempts), reply, dueAt };
};

/** By its policy, or by the slot that it had to wait for. */
const dueOf = ({ next }: Delivery, { slotAt }: Going['turn']): number | undefined =>
  slotAt === undefined ? next?.dueAt : Math.max(slotAt, next?.dueAt ?? slotAt);

const wentBy = ({ changedAt }: Subscription): Pick<Attempt, 'subscriptionChangedAt'> =>
  changedAt === undefined ? {} : { subscriptionChangedAt: changedAt };

const detailsOf = (reply: Reply): Pick<Attempt, 'statusCode' | 'error' | 'snippet'> => {
  switch (reply.kind) {
    case 'answered':
      return {
        statusCode: reply.statusCode,
        ...(reply.snippet === undefined ? {} : { snippet: reply.snippet }),
      };
    case 'unanswered':
      return { error: reply.detail === undefined ? reply.error : `${reply.error}: ${reply.detail}` };
    case 'forbidden':
      return { error: ADDRESS_FORBIDDEN };
  }
};
