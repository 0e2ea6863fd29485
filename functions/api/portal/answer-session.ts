import * as z from 'zod';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import { isOfQueue } from '../../../shared/domain/delivery/recreated-queue.ts';
import { toRecord } from '../../../shared/domain/delivery/vocabulary.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { isJsonObject, jsonOrUndefined } from '../../../shared/domain/json.ts';
import {
  hostFaults,
  optionFaults,
  TENANT_OPTIONS,
  withDefaults,
} from '../../../shared/domain/portal/limits.ts';
import { isDeeperThan } from '../../../shared/domain/subscription/content-filter.ts';
import { isPresent } from '../../../shared/domain/subscription/subscription.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { QueueFullError } from '../../../shared/ports/subscriptions.ts';
import { invalidFields, notFound } from '../errors.ts';
import { timeField } from '../fields.ts';
import { messageKey, queuePath, subscriptionKey } from '../paths.ts';
import { parseWith, readJson, readOptionalJson } from '../request-json.ts';
import type { Answer, ApiRequest } from '../route.ts';
import { type Admission, namePrincipal } from './session.ts';

/** The answer to an admitted session. @throws RefusedRequest */
export async function answerSession(
  context: ApiDependencies,
  request: ApiRequest,
  {
    admission,
    answerAdmitted,
  }: { admission: Admission; answerAdmitted: (request: ApiRequest) => Promise<Answer> },
): Promise<Answer> {
  return checkAnswer(await answerAdmitted(await checkRequest(context, request, admission)), admission);
}

/**
 * The request that the route gets in place of that of a session: within the limits of the portal, and in the name of the
 * session.
 * @throws RefusedRequest
 */
async function checkRequest(
  context: ApiDependencies,
  { claims: _claims, callerArn: _arn, ...request }: ApiRequest,
  admission: Admission,
): Promise<ApiRequest> {
  const { session, queue, rest, portal } = admission;
  const { eventTypes } = session;
  await checkMessage(context, admission);
  checkRecovery(admission);
  if (admission.route.check === 'create') await requireRoom(context, admission);
  return {
    ...request,
    path: `${queuePath(queue.name)}${rest}`,
    query: checkQuery(request, admission, context.clock.now()),
    body: checkBody(request.body, admission),
    caller: { ...request.caller, principal: namePrincipal(session) },
    tenant: {
      queueCreatedAt: queue.createdAt,
      endpoints: portal.limits.endpoints,
      ...(eventTypes && { eventTypes }),
    },
  };
}

/**
 * A queue that was made again has records of the earlier one, which may have been another customer's. A payload is also
 * rendered for messages that the endpoint did not get.
 * @throws RefusedRequest `not_found`
 */
async function checkMessage(
  { messageRecords, deliveries }: ApiDependencies,
  { queue, route, params }: Admission,
): Promise<void> {
  const { message, subscription = '' } = params;
  if (message === undefined) return;
  const record = await messageRecords.find(messageKey({ queue: queue.name, message }));
  if (record === undefined || !isOfQueue(record, queue.createdAt)) throw notFound('such message');
  if (route.check !== 'payload') return;
  const { subscriptionId } = subscriptionKey({ queue: queue.name, subscription });
  if ((await deliveries.find(deliveryKeyIn(record, subscriptionId))) === undefined)
    throw notFound('such delivery');
}

/** Of an earlier queue, as for messages. The id begins with the time of creation. @throws RefusedRequest `not_found` */
function checkRecovery({ queue, params: { recovery = '' } }: Admission): void {
  if (Number.parseInt(recovery, 10) < queue.createdAt) throw notFound('such recovery');
}

/** Lists that have a window of time, and how long it is without `since`. */
const WINDOWS: ReadonlyMap<string, number> = new Map([
  ['/deliveries', Infinity],
  ['/subscriptions/{subscription}/deliveries', DAY_MS],
  ['/statistics', DAY_MS],
]);

/** Without `deleted` and `now`: what was deleted stays hidden, and can be restored. Windows begin with the queue. */
function checkQuery(
  { method, query: given }: Pick<ApiRequest, 'method' | 'query'>,
  { queue, route }: Admission,
  now: number,
): ApiRequest['query'] {
  const { deleted: _, ...query } = given;
  if (method === 'DELETE') return {};
  const length = WINDOWS.get(route.path);
  if (length === undefined) return query;
  const until = timeField.safeParse(query['until']).data ?? now;
  const since = timeField.safeParse(query['since']).data ?? until - length;
  if (since >= queue.createdAt) return query;
  const isEarlier = until <= queue.createdAt;
  return {
    ...query,
    since: timeText(queue.createdAt),
    ...(isEarlier && { until: timeText(queue.createdAt + 1) }),
  };
}

const tenantOptions = z.strictObject(toRecord(TENANT_OPTIONS, () => z.unknown().exactOptional()));

const newEndpoint = z.strictObject({
  subscriber: z.string(),
  name: z.unknown().exactOptional(),
  options: tenantOptions.default({}),
});

const endpointChange = newEndpoint.extend({
  subscriber: z.string().exactOptional(),
  options: tenantOptions.exactOptional(),
  secret: z.unknown().exactOptional(),
});

/** Only what tenants may set. The route checks the values. @throws RefusedRequest */
function checkBody(body: Uint8Array, admission: Admission): Uint8Array {
  const { check } = admission.route;
  if (check === undefined) return body;
  switch (check) {
    case 'payload':
      return body;
    case 'test':
      return checkTest(body, admission);
    case 'create':
      return checkEndpoint(newEndpoint, body, admission);
    case 'change':
      return checkEndpoint(endpointChange, body, admission);
  }
}

function checkTest(body: Uint8Array, { session: { eventTypes } }: Admission): Uint8Array {
  const { value } = readOptionalJson(body);
  const type = isJsonObject(value) ? value['type'] : undefined;
  const allowed: ReadonlySet<unknown> = new Set(eventTypes);
  if (eventTypes !== undefined && type !== undefined && !allowed.has(type))
    throw invalidFields([{ field: 'type', message: `must be among: ${eventTypes.join(', ')}` }]);
  return body;
}

function checkEndpoint(
  schema: z.ZodType<z.output<typeof endpointChange>>,
  body: Uint8Array,
  { session, portal: { limits } }: Admission,
): Uint8Array {
  const given = readFields(schema, body);
  const options = given.options && withDefaults(given.options, limits, session.eventTypes);
  const faults = [
    ...(given.subscriber === undefined ? [] : hostFaults(given.subscriber, limits)),
    ...(options === undefined ? [] : optionFaults(options, limits, session.eventTypes)),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  return Buffer.from(JSON.stringify({ ...given, ...(options && { options }) }));
}

/** Deeper than anything that the routes accept. */
const MAX_DEPTH = 64;

/** Checks the depth before JSON.stringify, which recurses. @throws RefusedRequest */
function readFields<T>(schema: z.ZodType<T>, body: Uint8Array): T {
  const { value } = readJson(body);
  if (isDeeperThan(value, MAX_DEPTH))
    throw invalidFields([{ field: 'body', message: `is nested deeper than ${MAX_DEPTH} levels` }]);
  return parseWith(schema, value);
}

/**
 * Refuses early what the registry would refuse, before a secret is made. @throws QueueFullError where the queue has all
 * endpoints that a tenant may have
 */
async function requireRoom(
  { registry, clock }: ApiDependencies,
  { queue, portal }: Admission,
): Promise<void> {
  const { endpoints } = portal.limits;
  let count = 0;
  let marker: string | undefined;
  do {
    const page = await registry.listSubscriptions(queue.name, { limit: 100, marker });
    count += page.items.filter((one) => isPresent(one, clock.now())).length;
    ({ marker } = page);
  } while (marker !== undefined && count < endpoints);
  if (count >= endpoints) throw new QueueFullError(queue.name, endpoints);
}

type Item = Record<string, unknown>;

/** The answer of a route as a session gets it: without what only operators see. */
function checkAnswer(answer: Answer, admission: Admission): Answer {
  const { status = 200, body = '' } = answer;
  const value: unknown = status < 300 ? jsonOrUndefined(body) : undefined;
  return isJsonObject(value) ? { ...answer, body: JSON.stringify(redact(value, admission)) } : answer;
}

/** Every answer of a portal route has what is redacted in these fields, or in itself. */
const NESTED: ReadonlySet<string> = new Set(['subscriptions', 'deliveries', 'delivery']);

function redact(answer: Item, admission: Admission): Item {
  return Object.fromEntries(
    Object.entries(redactItem(answer, admission)).map(([name, value]) => [
      name,
      NESTED.has(name) ? redactNested(value, admission) : value,
    ]),
  );
}

function redactNested(value: unknown, admission: Admission): unknown {
  if (Array.isArray(value)) return value.filter(isJsonObject).map((item) => redactItem(item, admission));
  return isJsonObject(value) ? redactItem(value, admission) : undefined;
}

const SHOWN_OPTIONS = [...TENANT_OPTIONS, '_retry_policy'];

/** `secret`: of a new endpoint. `options`: of an endpoint. `attempts`, `lateResults`: of a delivery. */
function redactItem({ secret, options, attempts, lateResults, ...item }: Item, admission: Admission): Item {
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
