import { TENANT_OPTIONS } from '../../../shared/domain/portal/limits.ts';
import { isJsonObject, jsonOrUndefined } from '../../../shared/domain/json.ts';
import type { Answer } from '../route.ts';
import type { Admission } from './session.ts';

type Item = Record<string, unknown>;

/** The answer of a route as a session gets it: without what only operators see. */
export function checkAnswer({ status = 200, headers, body }: Answer, admission: Admission): Answer {
  const value: unknown = status < 300 && body !== undefined ? jsonOrUndefined(body) : undefined;
  if (!isJsonObject(value))
    return { status, ...(headers && { headers }), ...(body !== undefined && { body }) };
  return { status, ...(headers && { headers }), body: JSON.stringify(redact(value, admission)) };
}

/** Every answer of a portal route has what is redacted in these fields, alone or in a list. */
function redact(answer: Item, admission: Admission): Item {
  const { subscriptions, deliveries, delivery, event_types, recoveries, ...rest } = answer;
  const lists = {
    subscriptions: itemsIn(subscriptions).map((item) => redactItem(item, admission)),
    deliveries: itemsIn(deliveries).map((item) => redactItem(item, admission)),
    event_types: itemsIn(event_types).map((item) => redactItem(item, admission)),
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
