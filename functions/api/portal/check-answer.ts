import { TENANT_OPTIONS } from '../../../shared/domain/portal/limits.ts';
import { isJsonObject, jsonOrUndefined } from '../../../shared/domain/json.ts';
import { subscribedSchema } from '../../../shared/wire/views/subscription.ts';
import { subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { RefusedRequest } from '../errors.ts';
import type { Answer } from '../route.ts';
import { unsubscribe } from '../subscriptions/change.ts';
import { countEndpoints, noRoom } from './check-request.ts';
import { type Admission, namePrincipal, noSession } from './session.ts';

type Item = Record<string, unknown>;

/** The answer of a route as a session gets it: without what only operators see. @throws RefusedRequest */
export async function checkAnswer(
  context: ApiDependencies,
  answer: Answer,
  admission: Admission,
  requestId: string,
): Promise<Answer> {
  const { status = 200, headers, body } = answer;
  const value: unknown = status < 300 && body !== undefined ? jsonOrUndefined(body) : undefined;
  if (!isJsonObject(value)) return answer;
  if (admission.route.check === 'create') await removeUnlessAllowed(context, value, admission, requestId);
  return { status, ...(headers && { headers }), body: JSON.stringify(redact(value, admission)) };
}

/**
 * Deletes a new endpoint where concurrent requests made too many, and where the queue was deleted meanwhile.
 * @throws RefusedRequest `conflict`, `unauthorized`
 */
async function removeUnlessAllowed(
  context: ApiDependencies,
  created: Item,
  admission: Admission,
  requestId: string,
): Promise<void> {
  const refusal = await findRefusal(context, admission);
  if (refusal === undefined) return;
  const { queue, session } = admission;
  const { subscription_id: subscriptionId } = subscribedSchema.parse(created);
  const key = { queue: queue.name, subscriptionId };
  const removed = await unsubscribe(context, key);
  if (removed !== undefined)
    context.audit(
      { principal: namePrincipal(session), requestId },
      { change: 'subscription_deleted', ...key, before: subscriptionDigest(removed) },
    );
  throw refusal;
}

/** Each request counts after its endpoint is stored, so none stays beyond the limit. */
async function findRefusal(
  context: ApiDependencies,
  { queue, portal }: Admission,
): Promise<RefusedRequest | undefined> {
  const found = await context.registry.findQueue(queue.name);
  // The route makes a queue that is missing.
  if (found?.createdAt !== queue.createdAt) return noSession();
  const { endpoints } = portal.limits;
  return (await countEndpoints(context, queue.name, endpoints)) > endpoints ? noRoom(endpoints) : undefined;
}

/** Every answer of a portal route has what is redacted in these fields, alone or in a list. */
function redact(answer: Item, admission: Admission): Item {
  const { eventTypes } = admission.session;
  const { subscriptions = [], deliveries = [], delivery, event_types: types = [], ...others } = answer;
  const { recoveries = [], ...rest } = others;
  const lists = {
    subscriptions: itemsIn(subscriptions).map((item) => redactItem(item, admission)),
    deliveries: itemsIn(deliveries).map((item) => redactItem(item, admission)),
    event_types: itemsIn(types)
      .filter(({ name }) => eventTypes?.some((type) => type === name) ?? true)
      .map((item) => redactItem(item, admission)),
    // Others are of an earlier queue of the name, perhaps of another customer.
    recoveries: itemsIn(recoveries).filter(
      ({ createdAt }) => Date.parse(String(createdAt)) >= admission.queue.createdAt,
    ),
  };
  return {
    ...redactItem(rest, admission),
    ...(isJsonObject(delivery) && { delivery: redactItem(delivery, admission) }),
    ...Object.fromEntries(Object.entries(lists).filter(([name]) => name in answer)),
  };
}

function itemsIn(list: unknown): Item[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

const SHOWN_OPTIONS = [...TENANT_OPTIONS, '_retry_policy'];

/**
 * `secret`: of a new endpoint. `options`: of an endpoint. `attempts`, `lateResults`: of a delivery. `queues`: of an event
 * type, which names other tenants.
 */
function redactItem(
  { secret, options, attempts, lateResults, queues: _queues, ...item }: Item,
  admission: Admission,
): Item {
  const { capabilities } = admission.session;
  // A test and a retry answer with the delivery, too.
  const seesBodies = admission.portal.responseBodies && capabilities.includes('deliveries');
  const withoutBodies = (made: unknown) =>
    seesBodies || !Array.isArray(made) ? made : made.map(withoutSnippet);
  return {
    ...item,
    ...(secret !== undefined && capabilities.includes('secrets') && { secret }),
    ...(isJsonObject(options) && {
      options: Object.fromEntries(Object.entries(options).filter(([name]) => SHOWN_OPTIONS.includes(name))),
    }),
    ...(attempts !== undefined && { attempts: withoutBodies(attempts) }),
    ...(lateResults !== undefined && { lateResults: withoutBodies(lateResults) }),
  };
}

function withoutSnippet(attempt: unknown): unknown {
  if (!isJsonObject(attempt)) return attempt;
  const { snippet: _, ...shown } = attempt;
  return shown;
}
