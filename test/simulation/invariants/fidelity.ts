import { createHmac } from 'node:crypto';
import type { Message } from '../../../shared/domain/message/message.ts';
import { toSubscriber } from '../../../shared/domain/subscription/destination.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Acceptance, SeenRequest } from '../history.ts';
import { SECOND } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { isConfirmationRequest } from './confirmations.ts';
import { acceptanceOf, type DeliveryCase, type Finding, type Invariant, violation } from './delivery-case.ts';
import { validBetween } from './policy.ts';

/** Requests have the right body and id, and go to an active subscription. */
export const requestsAreFaithful: Invariant = (one) =>
  one.requests.flatMap((request) => [...bodyIsRight(one, request), ...receiverIsRight(one, request)]);

/** The body is exactly the accepted copy, not another one published under its id. */
const bodyIsRight = (one: DeliveryCase, request: SeenRequest): Finding[] => {
  const { webhookId, body, at, actor } = request;
  const acceptance = acceptanceOf(one);
  if (webhookId !== one.messageId || acceptance === undefined || !concerns(one, request))
    return [violation('the_id_is_constant', one, webhookId)];
  if (isExpired(acceptance, at + actor.clockOffset))
    return [violation('nothing_after_its_ttl', one, `at ${at}`)];
  const accepted = acceptance.actor.copy?.message;
  const isRight =
    accepted === undefined
      ? isConfirmationRequest(body, webhookId, one.subscriptionId)
      : body === expectedBody(one, accepted);
  return isRight ? [] : [violation('the_body_is_unchanged', one, body.slice(0, 200))];
};

const concerns = ({ name }: DeliveryCase, { actor }: SeenRequest): boolean =>
  actor.work?.deliveries.includes(name) === true;

const isExpired = ({ actor }: Acceptance, now: number): boolean =>
  (actor.copy?.message.expiresAt ?? Infinity) <= now;

/** Written independently of the code under test. */
const expectedBody = (
  { world, subscriptionId }: DeliveryCase,
  { id, type, timestamp, data }: Message,
): string => {
  const planned = world.scenario.subscriptions.find((subscription) => subscription.id === subscriptionId);
  if (planned?.rawDelivery === true) return data;
  const typed = type === undefined ? '' : `"type":"${type}",`;
  return `{"id":"${id}","queue":"orders",${typed}"timestamp":"${timestamp}","data":${data}}`;
};

/**
 * Checks against the versions that may have been read: for a first attempt with the cache's age, for a retry since
 * its wake-up.
 */
const receiverIsRight = (one: DeliveryCase, request: SeenRequest): Finding[] => {
  const { url, at, actor, grant } = request;
  const cachedMs = one.world.scenario.settings.cacheSeconds * SECOND;
  const from = actor.startedAt - ((grant?.number ?? 1) === 1 ? cachedMs : 0);
  const versions = validBetween(one.world.subscriptions.versionsOf(one.subscriptionId), from, at);
  const active = versions.filter((version) => version !== undefined && mayBeCalled(version, request));
  if (active.length === 0) return [violation('only_active_subscriptions', one, `${url} at ${at}`)];
  return active.some((version) => version !== undefined && isSignedBy(version, request))
    ? []
    : [violation('signed_by_its_secrets', one, `${url} at ${at}: ${request.signatures}`)];
};

/** An unconfirmed subscription receives only its confirmation request. */
const mayBeCalled = (
  { destination, deletedAt, disabled, expiresAt, unconfirmed }: Subscription,
  { url, at, actor, webhookId }: SeenRequest,
): boolean =>
  toSubscriber(destination) === url &&
  deletedAt === undefined &&
  disabled === undefined &&
  (expiresAt ?? Infinity) > at + actor.clockOffset &&
  (unconfirmed === undefined || webhookId === `confirm_${unconfirmed.tokenHash}`);

/**
 * Signed with all secrets in force. Written from the Standard Webhooks specification, independently of the code under
 * test.
 */
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

/** No body of an erased message remains, neither in the bucket nor in its record. */
export const erasedIsGone = ({ scenario, messages }: SimulatedWorld): Finding[] =>
  scenario.messages.flatMap(({ id }) => {
    const record = messages.find(id);
    if (record?.erasedAt === undefined) return [];
    const objects = [...messages.objects.keys()].filter((key) => key.includes(`/${id}/`));
    const kept = record.body === undefined ? objects : [...objects, 'a body in its record'];
    return kept.map((detail) => violation('erased_is_gone', id, detail));
  });

/** A wake-up carries no message, so an erased message is not retried. */
export const erasedIsNotRetried: Invariant = (one) => {
  const erasedAt = erasureOf(one);
  return one.requests
    .filter(({ actor }) => actor.work?.carriesMessage === false && actor.startedAt > erasedAt)
    .map(({ at }) => violation('erased_is_not_retried', one, `at ${at}, after ${erasedAt}`));
};

/** The time of the erasure; Infinity if never. */
export const erasureOf = (one: DeliveryCase): number => {
  const acceptedAt = acceptanceOf(one)?.record.acceptedAt;
  const erasure = one.world.history.erasures.find(
    (erased) => erased.messageId === one.messageId && erased.acceptedAt === acceptedAt,
  );
  return erasure?.at ?? Infinity;
};
