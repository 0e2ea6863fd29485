import * as z from 'zod';
import { RECEIVE_LEASE_SECONDS, RECEIVE_MAX } from '../../../shared/domain/delivery/pull.ts';
import { absenceOf } from '../../../shared/domain/subscription/subscription.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import type { SecretDependencies } from '../dependencies.ts';
import { RefusedRequest } from '../errors.ts';
import { seconds } from '../fields.ts';
import { parseWith, readOptionalJson } from '../request-json.ts';
import { type AddRoute, json, optionalJsonBody } from '../route.ts';
import type { Access, RouteContext } from './token.ts';
import { receiveDeliveries } from './receive.ts';

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

/**
 * The route by which a subscriber receives. It signs, so the function that may open secrets serves it; without
 * `dependencies` it is only described.
 */
export function addReceiveRoute(
  addRoute: AddRoute,
  access: Access,
  dependencies: SecretDependencies | undefined,
): void {
  const { base, id, authorisation } = access;
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
      ...authorisation,
    },
    dependencies && ((context) => receive(dependencies, access, context)),
  );
}

async function receive(
  dependencies: SecretDependencies,
  { subscriptionOf, callerOf }: Access,
  context: RouteContext,
): Promise<Response> {
  // First: a stranger's body can have 1 MiB.
  const subscription = await subscriptionOf(context);
  const { max, lease_seconds } = parseWith(receiveRequest, (await readOptionalJson(context.req)).value);
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
  return context.json({
    deliveries: received.map((one) => ({ ...one, leaseUntil: timeText(one.leaseUntil) })),
  } satisfies z.input<typeof receivedSchema>);
}
