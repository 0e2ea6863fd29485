import type { SeenRequest } from '../history.ts';
import { messageOf } from '../planned-message.ts';
import { SECOND, type PlannedMessage } from '../scenario.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';
import { validBetween } from './policy.ts';

/** The right bytes under the right id, to somebody who was there to be asked. */
export const requestsAreFaithful: Invariant = (one) =>
  one.requests.flatMap((request) => [...bodyIsRight(one, request), ...receiverIsRight(one, request)]);

const bodyIsRight = (one: DeliveryCase, { webhookId, body, at, actor }: SeenRequest): Finding[] => {
  const { world, messageId } = one;
  const planned = world.scenario.messages.find(({ id }) => id === messageId);
  if (planned === undefined || webhookId !== messageId || actor.work?.deliveries.includes(one.name) !== true)
    return [violation('the_id_is_constant', one, webhookId)];
  const published = [planned.at, ...planned.republishedAt].filter((time) =>
    isUnexpired(planned, time, at + actor.clockOffset),
  );
  if (published.length === 0) return [violation('nothing_after_its_ttl', one, `at ${at}`)];
  const isPublished = body === planned.data || published.some((time) => body === expectedBody(planned, time));
  return isPublished ? [] : [violation('the_body_is_unchanged', one, body.slice(0, 200))];
};

const isUnexpired = (planned: PlannedMessage, publishedAt: number, now: number): boolean =>
  (messageOf(planned, publishedAt).expiresAt ?? Infinity) > now;

/** Written out by hand, apart from the code that builds it. */
const expectedBody = (planned: PlannedMessage, publishedAt: number): string =>
  `{"id":"${planned.id}","queue":"orders","timestamp":"${messageOf(planned, publishedAt).timestamp}","data":${planned.data}}`;

/** By what may have been read: for a first attempt some seconds ago, for a retry since its wake-up was received. */
const receiverIsRight = (one: DeliveryCase, { url, at, actor, grant }: SeenRequest): Finding[] => {
  const cachedMs = one.world.scenario.settings.cacheSeconds * SECOND;
  const from = actor.startedAt - ((grant?.number ?? 1) === 1 ? cachedMs : 0);
  const wasThere = validBetween(one.world.subscriptions.versionsOf(one.subscriptionId), from, at).some(
    (subscription) =>
      subscription?.subscriber === url &&
      subscription.disabled === undefined &&
      (subscription.expiresAt ?? Infinity) > at + actor.clockOffset,
  );
  return wasThere ? [] : [violation('only_who_is_there', one, `${url} at ${at}`)];
};
