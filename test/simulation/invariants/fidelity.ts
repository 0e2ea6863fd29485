import type { Message } from '../../../shared/domain/message/message.ts';
import type { SeenRequest } from '../history.ts';
import { SECOND } from '../scenario.ts';
import { acceptanceOf, violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';
import { validBetween } from './policy.ts';

/** The right bytes under the right id, to somebody who was there to be asked. */
export const requestsAreFaithful: Invariant = (one) =>
  one.requests.flatMap((request) => [...bodyIsRight(one, request), ...receiverIsRight(one, request)]);

/** Exactly the copy that was accepted, and none of the others that were published under its id. */
const bodyIsRight = (one: DeliveryCase, request: SeenRequest): Finding[] => {
  const { webhookId, body, at, actor } = request;
  const accepted = acceptanceOf(one)?.actor.copy?.message;
  if (accepted?.id !== webhookId || !isAbout(one, request))
    return [violation('the_id_is_constant', one, webhookId)];
  if (isExpired(accepted, at + actor.clockOffset))
    return [violation('nothing_after_its_ttl', one, `at ${at}`)];
  return body === expectedBody(one, accepted)
    ? []
    : [violation('the_body_is_unchanged', one, body.slice(0, 200))];
};

const isAbout = ({ name }: DeliveryCase, { actor }: SeenRequest): boolean =>
  actor.work?.deliveries.includes(name) === true;

const isExpired = ({ expiresAt }: Message, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now;

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
const receiverIsRight = (one: DeliveryCase, { url, at, actor, grant }: SeenRequest): Finding[] => {
  const cachedMs = one.world.scenario.settings.cacheSeconds * SECOND;
  const from = actor.startedAt - ((grant?.number ?? 1) === 1 ? cachedMs : 0);
  const wasThere = validBetween(one.world.subscriptions.versionsOf(one.subscriptionId), from, at).some(
    (subscription) =>
      subscription?.subscriber === url &&
      subscription.deletedAt === undefined &&
      subscription.disabled === undefined &&
      (subscription.expiresAt ?? Infinity) > at + actor.clockOffset,
  );
  return wasThere ? [] : [violation('only_who_is_there', one, `${url} at ${at}`)];
};
