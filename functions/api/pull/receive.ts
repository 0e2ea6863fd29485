import * as z from 'zod';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import {
  cancelWaiting,
  receive,
  RECEIVE_LEASE_SECONDS,
  RECEIVE_MAX,
  retainedForPull,
} from '../../../shared/domain/delivery/pull.ts';
import { cancelLeased, type OverdueDelivery } from '../../../shared/domain/delivery/transitions.ts';
import type { WebhookRequest } from '../../../shared/domain/delivery/webhook-request.ts';
import { isExpired, type Message } from '../../../shared/domain/message/message.ts';
import type { RenderFault } from '../../../shared/domain/message/payload.ts';
import { withoutCredentials } from '../../../shared/domain/subscription/credential-headers.ts';
import { findAbsence, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { CancelReason } from '../../../shared/domain/delivery/vocabulary.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { readKept } from '../../../shared/steps/keep-message.ts';
import { recordRenderFault } from '../../../shared/steps/record-received.ts';
import { type BodyRetention, writeTime } from '../../../shared/steps/retention.ts';
import { openedSecrets, signedRequest, type OpenedSecret } from '../../../shared/steps/sign-request.ts';
import type { ApiSettings, SecretDependencies } from '../dependencies.ts';
import { countAnswerBytes, MAX_ANSWER_BYTES } from '../paging.ts';
import { receiptText } from './answer.ts';
import { findPauseInForce } from '../../../shared/domain/subscription/pause.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import { pausedView, pausedViewSchema } from '../../../shared/wire/views/subscription.ts';
import { RefusedRequest } from '../errors.ts';
import { seconds } from '../fields.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import type { Access } from './token.ts';

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
  /** None are received during a pause. */
  paused: pausedViewSchema.exactOptional(),
});

/**
 * The route by which a subscriber receives. It signs, so the function that may open secrets serves it; without
 * `dependencies` it is only described.
 */
export function addReceiveRoute(
  addRoute: AddRoute,
  { base, id, authorisation, subscriptionOf, callerOf }: Access,
  dependencies: SecretDependencies | undefined,
): void {
  addRoute({
    key: `POST ${base}/receive`,
    id: `${id}Receive`,
    summary: 'Receives waiting deliveries of a pull subscription, the longest waiting first',
    description:
      'Each is leased: it counts as failed unless it is acknowledged within `lease_seconds`. The answer can have fewer ' +
      'deliveries than wait; during a pause it has none.',
    body: optionalJsonBody(receiveRequest),
    answers: { 200: json('The received deliveries; none if none waits.', receivedSchema) },
    ...authorisation,
    handle:
      dependencies === undefined
        ? undefined
        : async (context) => {
            // First: a stranger's body can have 1 MiB.
            const subscription = await subscriptionOf(context);
            const answer = await answerReceive(dependencies, subscription, context.body);
            const { queue, id: subscriptionId } = subscription;
            const deliveries = answer.deliveries.length;
            if (deliveries > 0)
              dependencies.audit(callerOf(context), {
                change: 'deliveries_received',
                queue,
                subscriptionId,
                deliveries,
              });
            return jsonAnswer(answer);
          },
  });
}

/** @throws RefusedRequest for a subscription that gets no deliveries */
async function answerReceive(
  dependencies: SecretDependencies,
  subscription: Subscription,
  { max, lease_seconds }: z.output<typeof receiveRequest>,
): Promise<z.input<typeof receivedSchema>> {
  const { clock, registry } = dependencies;
  const absence = findAbsence(subscription, clock.now());
  if (absence !== undefined)
    throw new RefusedRequest(
      'inactive',
      `the subscription is ${absence === 'disabled' ? 'disabled' : 'not confirmed'}`,
    );
  const queue = await registry.findQueue(subscription.queue);
  const { paused } = pausedView(findPauseInForce({ queue, subscription }, clock.now()));
  if (paused !== undefined) return { deliveries: [], paused };
  const leaseMs = lease_seconds * 1000;
  return { deliveries: await receiveDeliveries(dependencies, subscription, { max, leaseMs }) };
}

type ReceiveContext = Omit<SecretDependencies, 'registry' | 'audit' | 'reportFault' | 'settings'> & {
  settings: BodyRetention & Pick<ApiSettings, 'userAgent'>;
};

/** A received delivery. `headers`, `body`: of the request that a push would have made now. */
export type Received = z.output<typeof receivedSchema>['deliveries'][number];

/** Messages read at the same time: each takes up to 1 MiB, several times over. */
const READ_TOGETHER = 10;

/** Bytes of a received delivery in the answer, besides headers and body. */
const OTHER_BYTES = 2_000;

/**
 * Gives up to `max` waiting deliveries to their subscriber, the longest waiting first; fewer if their bodies do not fit
 * into one answer, or if another receive was faster. Everything that can fail is read before the first lease is taken.
 * @throws UnopenedSecretError and AWS errors; nothing was received then
 */
export async function receiveDeliveries(
  context: ReceiveContext,
  subscription: Subscription,
  { max, leaseMs }: { max: number; leaseMs: number },
): Promise<Received[]> {
  const { clock, deliveries, secretOpener } = context;
  const now = clock.now();
  const name = { queue: subscription.queue, subscriptionId: subscription.id };
  const found = await deliveries.waiting(name, now, max);
  if (found.length === 0) return [];
  const secrets = await openedSecrets(secretOpener, subscription, now);
  const claims = await Promise.allSettled(
    (await readFitting(context, found, subscription, secrets)).map((one) => claim(context, one, leaseMs)),
  );
  const received = claims.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  const failed = claims.find((one) => one.status === 'rejected');
  if (received.length === 0 && failed !== undefined) throw failed.reason;
  return received;
}

/** A waiting delivery with its request, or with the reason why there is none. */
type ReadDelivery = {
  found: OverdueDelivery;
  content: CancelReason | { request: WebhookRequest | RenderFault; startedAt: number; acceptedAt: number };
};

/** Reads deliveries until their requests fill an answer. The first always fits. */
async function readFitting(
  context: ReceiveContext,
  found: readonly OverdueDelivery[],
  subscription: Subscription,
  secrets: readonly OpenedSecret[],
): Promise<ReadDelivery[]> {
  const fitting: ReadDelivery[] = [];
  let room = MAX_ANSWER_BYTES;
  for (let start = 0; start < found.length; start += READ_TOGETHER) {
    const group = found.slice(start, start + READ_TOGETHER);
    for (const one of await Promise.all(group.map((each) => read(context, each, subscription, secrets)))) {
      if (typeof one.content !== 'string') room -= countRequestBytes(one.content.request);
      if (room < 0 && fitting.length > 0) return fitting;
      fitting.push(one);
    }
  }
  return fitting;
}

function countRequestBytes(request: WebhookRequest | RenderFault): number {
  if ('kind' in request) return 0;
  const { headers, body } = request;
  return countAnswerBytes({ headers, body: body.toString() }) + OTHER_BYTES;
}

async function read(
  context: ReceiveContext,
  found: OverdueDelivery,
  subscription: Subscription,
  secrets: readonly OpenedSecret[],
): Promise<ReadDelivery> {
  const { clock, messageRecords, render, settings } = context;
  const record = await messageRecords.find(found.key);
  const retained = retainedForPull(record ?? {}, settings);
  const { message } = (await readKept({ ports: context, settings }, record, retained)) ?? {};
  const startedAt = clock.now();
  const reason = absenceReason(record, message, startedAt);
  if (record === undefined || message === undefined || reason !== undefined)
    return { found, content: reason ?? 'body_missing' };
  const { userAgent } = settings;
  const { acceptedAt } = record;
  const payload = await render(message, subscription);
  if (payload.kind === 'unrendered') return { found, content: { request: payload, startedAt, acceptedAt } };
  const signed = { secrets, startedAt, userAgent };
  // Credentials in `post_headers` are for a server that is called, not for the program that receives.
  const shown = { ...subscription, options: withoutCredentials(subscription.options) };
  const request = signedRequest(message, payload, shown, signed);
  return { found, content: { request, startedAt, acceptedAt } };
}

/** Why a message cannot be received; undefined: it can be. */
function absenceReason(
  record: MessageRecord | undefined,
  message: Message | undefined,
  now: number,
): CancelReason | undefined {
  if (record?.erasedAt !== undefined) return 'body_erased';
  if (message === undefined) return 'body_missing';
  return isExpired(message, now) ? 'message_expired' : undefined;
}

/** Takes the lease. Undefined: the delivery changed meanwhile, or had to be cancelled. */
async function claim(
  context: ReceiveContext,
  { found, content }: ReadDelivery,
  leaseMs: number,
): Promise<Received | undefined> {
  const { clock, deliveries, randomBytes } = context;
  const at = { now: clock.now() };
  if (typeof content === 'string') {
    const result = await deliveries.write(cancelWaiting(found, content, at));
    if (result.kind === 'written') noteCancelled(context, result.delivery, content);
    return undefined;
  }
  const owner = `pull/${Buffer.from(randomBytes(OWNER_BYTES)).toString('base64url')}`;
  const lease = { owner, until: at.now + leaseMs, receivedAt: content.startedAt };
  const result = await deliveries.write(receive(found, lease, at));
  if (result.kind === 'refused') return undefined;
  const { delivery } = result;
  if (delivery.acceptedAt !== content.acceptedAt) {
    // The record is of a message with the same id, in a later queue of the name.
    const ending = writeTime({ ...context, ports: { clock } }, delivery);
    await deliveries.write(cancelLeased(delivery, owner, 'body_missing', ending));
    noteCancelled(context, delivery, 'body_missing');
    return undefined;
  }
  const { request } = content;
  if ('kind' in request) {
    const ending = writeTime({ ...context, ports: { clock } }, delivery);
    await recordRenderFault(context, { ...delivery, lease }, request, ending);
    return undefined;
  }
  const attempt = delivery.attempts.length + 1;
  return {
    receipt: receiptText({ key: delivery.key, attempt, owner }),
    messageId: delivery.key.messageId,
    attempt,
    leaseUntil: timeText(lease.until),
    headers: request.headers,
    body: request.body.toString(),
  };
}

/** Too many to guess, as the owner of a lease is what a receipt proves. */
const OWNER_BYTES = 16;

function noteCancelled({ journal }: ReceiveContext, { key }: Delivery, reason: CancelReason): void {
  journal.note({ fact: 'delivery_cancelled', key, reason });
}
