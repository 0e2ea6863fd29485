import type { Context } from 'hono';
import * as z from 'zod';
import { MAX_NACK_ERROR, RECEIVE_LEASE_SECONDS, RECEIVE_MAX } from '../../../shared/domain/delivery/pull.ts';
import { absenceOf, isPresent, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import type { Caller } from '../audit.ts';
import type { ApiDependencies, ApiEnvironment } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { presentPullSubscription, recordedPullSubscription } from '../existing.ts';
import { printable, seconds } from '../fields.ts';
import { subscriptionKey } from '../paths.ts';
import { parseWith, readJson, readOptionalJson } from '../request-json.ts';
import { type AddRoute, json, jsonBody, noBody, optionalJsonBody } from '../route.ts';
import { answerReceived, type PullAnswer } from './answer.ts';
import { MAX_RECEIPT_LENGTH, parseReceipt } from './receipt.ts';
import { receiveDeliveries } from './receive.ts';
import { holders, isOnRecord, principalOf } from './token.ts';

/** For operators, authorised as all other routes. */
const OPERATED = '/v2/queues/:queue/subscriptions/:subscription';

/** For subscribers, authorised by the token of the subscription. API Gateway lets these paths through. */
const BY_TOKEN = '/v2/pull/:queue/:subscription';

const MAX_RULE = `must be an integer from ${RECEIVE_MAX.least} to ${RECEIVE_MAX.most}`;

const receiveRequest = z.strictObject({
  max: z
    .int(MAX_RULE)
    .min(RECEIVE_MAX.least, MAX_RULE)
    .max(RECEIVE_MAX.most, MAX_RULE)
    .describe('Most deliveries in the answer.')
    .default(RECEIVE_MAX.default),
  lease_seconds: seconds(RECEIVE_LEASE_SECONDS.least, RECEIVE_LEASE_SECONDS.most)
    .describe('Seconds until a received delivery that was not acknowledged has failed.')
    .default(RECEIVE_LEASE_SECONDS.default),
});

const receivedSchema = z.object({
  deliveries: z.array(
    z.object({
      receipt: z.string().describe('Names this receive of the delivery, for `ack` and `nack`.'),
      messageId: z.string(),
      attempt: z.int().positive(),
      leaseUntil: timeView,
      headers: z.record(z.string(), z.string()).describe('The signed headers of the webhook request.'),
      body: z.string().describe('The body of the webhook request; its UTF-8 bytes are signed.'),
    }),
  ),
});

const receipt = z.string().min(1).max(MAX_RECEIPT_LENGTH, `must be at most ${MAX_RECEIPT_LENGTH} characters`);

const ackRequest = z.strictObject({ receipt });

const nackRequest = z.strictObject({
  receipt,
  error: printable(MAX_NACK_ERROR).describe('Why, for the record of the attempt.').exactOptional(),
});

type RouteContext = Context<ApiEnvironment, `/${string}/:queue/${string}/:subscription/${string}`>;

/**
 * Who may use a route, and where it is. `subscriptionOf` returns the subscription that the caller may act for;
 * `answererOf` also one that was deleted or has expired, because an answer within its lease still counts.
 */
type Access = {
  base: typeof OPERATED | typeof BY_TOKEN;
  /** Begins the operations' names in generated clients. */
  id: 'pull' | 'operatePull';
  authorisation: object | { open: 'pull_token' };
  subscriptionOf: (context: RouteContext) => Promise<Subscription>;
  answererOf: (context: RouteContext) => Promise<Subscription>;
  /** The authorised caller, for the audit trail. */
  callerOf: (context: RouteContext) => Caller;
};

/** The routes by which a subscriber fetches its deliveries, for operators and for holders of a token. */
export function addPullRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const holderOf = holders(dependencies);
  addRoutesFor(addRoute, dependencies, {
    base: OPERATED,
    id: 'operatePull',
    authorisation: {},
    subscriptionOf: async (context) =>
      presentPullSubscription(dependencies, subscriptionKey(context.req.param())),
    answererOf: async (context) =>
      recordedPullSubscription(dependencies, subscriptionKey(context.req.param())),
    callerOf: ({ env }) => env.caller,
  });
  addRoutesFor(addRoute, dependencies, {
    base: BY_TOKEN,
    id: 'pull',
    authorisation: { open: 'pull_token' },
    subscriptionOf: ({ req }) => holderOf(req.param(), req.header('authorization'), isPresent),
    answererOf: ({ req }) => holderOf(req.param(), req.header('authorization'), isOnRecord),
    callerOf: ({ env, req }) => ({ ...env.caller, principal: principalOf(req.header('authorization')) }),
  });
}

function addRoutesFor(
  addRoute: AddRoute,
  dependencies: ApiDependencies,
  { base, id, authorisation, subscriptionOf, answererOf, callerOf }: Access,
): void {
  addRoute(
    {
      method: 'POST',
      path: `${base}/receive`,
      id: `${id}Receive`,
      tag: 'pull',
      summary: 'Receives waiting deliveries of a pull subscription, the longest waiting first',
      description:
        'Each is leased: it counts as failed unless it is acknowledged within `lease_seconds`. The answer can have fewer ' +
        'deliveries than wait.',
      body: optionalJsonBody(receiveRequest),
      answers: { 200: json('The received deliveries; none if none waits.', receivedSchema) },
      refuses: [400, 404, 409, 413],
      ...authorisation,
    },
    async (context) => {
      const { max, lease_seconds } = parseWith(receiveRequest, (await readOptionalJson(context.req)).value);
      const subscription = await subscriptionOf(context);
      const absence = absenceOf(subscription, dependencies.clock.now());
      if (absence !== undefined)
        throw new RefusedRequest(
          'inactive',
          `the subscription is ${absence === 'disabled' ? 'disabled' : 'not confirmed'}`,
        );
      const received = await receiveDeliveries(dependencies, subscription, {
        max,
        leaseMs: lease_seconds * 1000,
      });
      if (received.length > 0) {
        const { queue, id: subscriptionId } = subscription;
        const deliveries = received.length;
        dependencies.audit(callerOf(context), {
          change: 'deliveries_received',
          queue,
          subscriptionId,
          deliveries,
        });
      }
      const answer: z.input<typeof receivedSchema> = {
        deliveries: received.map((one) => ({ ...one, leaseUntil: timeText(one.leaseUntil) })),
      };
      return context.json(answer);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${base}/ack`,
      id: `${id}Ack`,
      tag: 'pull',
      summary: 'Acknowledges a received delivery: it is delivered',
      body: jsonBody(ackRequest),
      answers: { 204: noBody('It is recorded as delivered, now or before.') },
      refuses: [400, 404, 409, 413],
      ...authorisation,
    },
    async (context) => {
      const { receipt: given } = parseWith(ackRequest, (await readJson(context.req)).value);
      const answered = await recordAnswer(dependencies, await answererOf(context), given, { kind: 'acked' });
      dependencies.audit(callerOf(context), { change: 'delivery_acknowledged', ...answered });
      return context.body(null, 204);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${base}/nack`,
      id: `${id}Nack`,
      tag: 'pull',
      summary: 'Refuses a received delivery: a failed attempt, retried by the policy',
      body: jsonBody(nackRequest),
      answers: { 204: noBody('It is recorded as failed, now or before.') },
      refuses: [400, 404, 409, 413],
      ...authorisation,
    },
    async (context) => {
      const { receipt: given, ...error } = parseWith(nackRequest, (await readJson(context.req)).value);
      const nacked = { kind: 'nacked', ...error } as const;
      const answered = await recordAnswer(dependencies, await answererOf(context), given, nacked);
      dependencies.audit(callerOf(context), { change: 'delivery_refused', ...answered });
      return context.body(null, 204);
    },
  );
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
): Promise<{ queue: string; messageId: string; subscriptionId: string; attempt: number }> {
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
