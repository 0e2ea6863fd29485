import * as z from 'zod';
import { MAX_NACK_ERROR } from '../../../shared/domain/delivery/pull.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { DeliveryName } from '../audit.ts';
import type { ApiDependencies, SecretDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { printable } from '../fields.ts';
import { type AddRoute, jsonBody, noBody } from '../route.ts';
import { type Access, accesses } from './token.ts';
import { answerReceived, type PullAnswer, MAX_RECEIPT_LENGTH, parseReceipt } from './answer.ts';
import { addReceiveRoute } from './receive.ts';

const receipt = z.string().min(1).max(MAX_RECEIPT_LENGTH, `must be at most ${MAX_RECEIPT_LENGTH} characters`);

const ackRequest = z.strictObject({ receipt });

const nackRequest = z.strictObject({
  receipt,
  error: printable(MAX_NACK_ERROR).describe('Why, for the record of the attempt.').exactOptional(),
});

/**
 * The routes by which a subscriber fetches its deliveries, for operators and for holders of a token. `secrets`: undefined
 * where another function serves those that open secrets.
 */
export function addPullRoutes(
  addRoute: AddRoute,
  dependencies: ApiDependencies,
  secrets: SecretDependencies | undefined,
): void {
  for (const access of accesses(dependencies)) {
    addReceiveRoute(addRoute, access, secrets);
    addAnswerRoutes(addRoute, dependencies, access);
  }
}

function addAnswerRoutes(
  addRoute: AddRoute,
  dependencies: ApiDependencies,
  { base, id, authorisation, answererOf, callerOf }: Access,
): void {
  addRoute({
    key: `POST ${base}/ack`,
    id: `${id}Ack`,
    summary: 'Acknowledges a received delivery: it is delivered',
    body: jsonBody(ackRequest),
    answers: { 204: noBody('It is recorded as delivered, now or before.') },
    ...authorisation,
    handle: async (context) => {
      const subscription = await answererOf(context);
      const { receipt: given } = context.body;
      const answered = await recordAnswer(dependencies, subscription, given, { kind: 'acknowledged' });
      dependencies.audit(callerOf(context), { change: 'delivery_acknowledged', ...answered });
      return { status: 204 };
    },
  });

  addRoute({
    key: `POST ${base}/nack`,
    id: `${id}Nack`,
    summary: 'Refuses a received delivery: a failed attempt, retried by the policy',
    body: jsonBody(nackRequest),
    answers: { 204: noBody('It is recorded as failed, now or before.') },
    ...authorisation,
    handle: async (context) => {
      const subscription = await answererOf(context);
      const { receipt: given, error } = context.body;
      const refused = { kind: 'refused', ...(error !== undefined && { detail: error }) } as const;
      const answered = await recordAnswer(dependencies, subscription, given, refused);
      dependencies.audit(callerOf(context), { change: 'delivery_refused', ...answered });
      return { status: 204 };
    },
  });
}

/**
 * Returns what was answered.
 * @throws RefusedRequest 404 for an unknown receipt, 409 for one that expired or is another subscription's
 */
async function recordAnswer(
  dependencies: ApiDependencies,
  { queue, id }: Subscription,
  text: string,
  answer: PullAnswer,
): Promise<DeliveryName & { attempt: number }> {
  const given = parseReceipt(text);
  if (given === undefined) throw notFound('such receipt');
  if (given.key.queue !== queue || given.key.subscriptionId !== id)
    throw new RefusedRequest('conflict', 'the receipt is of another subscription');
  switch (await answerReceived(dependencies, given, answer)) {
    case 'recorded':
      return { queue, messageId: given.key.messageId, subscriptionId: id, attempt: given.attempt };
    case 'unknown':
      throw notFound('such receipt');
    case 'expired':
      throw new RefusedRequest(
        'conflict',
        'the delivery was received again or answered otherwise, or it failed at the end of its lease',
      );
  }
}
