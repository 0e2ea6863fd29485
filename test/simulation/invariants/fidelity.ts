import { createHmac } from 'node:crypto';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Acceptance, SeenRequest } from '../history.ts';
import { SECOND } from '../scenario.ts';
import { isQuestion } from './confirmations.ts';
import { acceptanceOf, violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';
import { validBetween } from './policy.ts';

/** The right bytes under the right id, to somebody who was there to be asked. */
export const requestsAreFaithful: Invariant = (one) =>
  one.requests.flatMap((request) => [...bodyIsRight(one, request), ...receiverIsRight(one, request)]);

/** Exactly the copy that was accepted, and none of the others that were published under its id. */
const bodyIsRight = (one: DeliveryCase, request: SeenRequest): Finding[] => {
  const { webhookId, body, at, actor } = request;
  const acceptance = acceptanceOf(one);
  if (webhookId !== one.messageId || acceptance === undefined || !isAbout(one, request))
    return [violation('the_id_is_constant', one, webhookId)];
  if (isExpired(acceptance, at + actor.clockOffset))
    return [violation('nothing_after_its_ttl', one, `at ${at}`)];
  const accepted = acceptance.actor.copy?.message;
  const isRight =
    accepted === undefined
      ? isQuestion(body, webhookId, one.subscriptionId)
      : body === expectedBody(one, accepted);
  return isRight ? [] : [violation('the_body_is_unchanged', one, body.slice(0, 200))];
};

const isAbout = ({ name }: DeliveryCase, { actor }: SeenRequest): boolean =>
  actor.work?.deliveries.includes(name) === true;

const isExpired = ({ actor }: Acceptance, now: number): boolean =>
  (actor.copy?.message.expiresAt ?? Infinity) <= now;

/** Written out by hand, apart from the code that builds it. */
const expectedBody = (
  { world, subscriptionId }: DeliveryCase,
  { id, type, timestamp, data }: Message,
): string => {
  const planned = world.scenario.subscriptions.find((subscription) => subscription.id === subscriptionId);
  if (planned?.rawDelivery === true) return data;
  const typed = type === undefined ? '' : `"type":"${type}",`;
  return `{"id":"${id}","queue":"orders",${typed}"timestamp":"${timestamp}","data":${data}}`;
};

/** By what may have been read: for a first attempt some seconds ago, for a retry since its wake-up was received. */
const receiverIsRight = (one: DeliveryCase, request: SeenRequest): Finding[] => {
  const { url, at, actor, grant } = request;
  const cachedMs = one.world.scenario.settings.cacheSeconds * SECOND;
  const from = actor.startedAt - ((grant?.number ?? 1) === 1 ? cachedMs : 0);
  const versions = validBetween(one.world.subscriptions.versionsOf(one.subscriptionId), from, at);
  const wereThere = versions.filter((version) => version !== undefined && mayBeAsked(version, request));
  if (wereThere.length === 0) return [violation('only_who_is_there', one, `${url} at ${at}`)];
  return wereThere.some((version) => version !== undefined && isSignedBy(version, request))
    ? []
    : [violation('signed_by_its_secrets', one, `${url} at ${at}: ${request.signatures}`)];
};

/** Before it has confirmed, it gets the request for that and nothing else. */
const mayBeAsked = (
  { subscriber, deletedAt, disabled, expiresAt, unconfirmed }: Subscription,
  { url, at, actor, webhookId }: SeenRequest,
): boolean =>
  subscriber === url &&
  deletedAt === undefined &&
  disabled === undefined &&
  (expiresAt ?? Infinity) > at + actor.clockOffset &&
  (unconfirmed === undefined || webhookId === `confirm_${unconfirmed.tokenHash}`);

/** By all secrets that were in force, written out by hand from the specification of Standard Webhooks. */
const isSignedBy = (
  { secrets = [] }: Subscription,
  { at, actor, webhookId, signedAt, body, signatures }: SeenRequest,
): boolean =>
  signatures ===
  secrets
    .filter(({ expiresAt = Infinity }) => at + actor.clockOffset < expiresAt)
    .map(({ sealed }) => {
      const key = Buffer.from(sealed.replace('whsec_', ''), 'base64');
      const signature = createHmac('sha256', key).update(`${webhookId}.${signedAt}.${body}`).digest('base64');
      return `v1,${signature}`;
    })
    .join(' ');
