import * as z from 'zod';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import { isOfQueue } from '../../../shared/domain/delivery/recreated-queue.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { isJsonObject } from '../../../shared/domain/json.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';
import {
  hostFaults,
  optionFaults,
  type TenantOptions,
  withDefaultRate,
} from '../../../shared/domain/portal/limits.ts';
import { isDeeperThan } from '../../../shared/domain/subscription/content-filter.ts';
import { withoutCredentials } from '../../../shared/domain/subscription/credential-headers.ts';
import { hasNewOrigin, parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { isPresent } from '../../../shared/domain/subscription/subscription.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { presentSubscription } from '../existing.ts';
import { timeField } from '../fields.ts';
import { messageKey, queuePath, subscriptionKey } from '../paths.ts';
import { parseWith, readJson, readOptionalJson } from '../request-json.ts';
import type { ApiRequest } from '../route.ts';
import { type Admission, namePrincipal } from './session.ts';

/**
 * The request that the route gets in place of that of a session: within the limits of the portal, and in the name of the
 * session.
 * @throws RefusedRequest
 */
export async function checkRequest(
  context: ApiDependencies,
  { claims: _claims, callerArn: _arn, ...request }: ApiRequest,
  admission: Admission,
): Promise<ApiRequest> {
  const { session, queue, rest } = admission;
  checkEventType(admission);
  await checkMessage(context, admission);
  checkRecovery(admission);
  if (admission.route.check === 'create') await requireRoom(context, admission);
  return {
    ...request,
    path: `${queuePath(queue.name)}${rest}`,
    query: checkQuery(request, admission, context.clock.now()),
    body: await checkBody(context, request.body, admission),
    caller: { ...request.caller, principal: namePrincipal(session) },
  };
}

/** The list has only the event types of the link. @throws RefusedRequest `not_found` */
function checkEventType({ session: { eventTypes }, params: { type } }: Admission): void {
  if (type !== undefined && eventTypes?.includes(type) === false) throw notFound('such event type');
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

const tenantOptions = z.strictObject({
  event_types: z.unknown().exactOptional(),
  filter: z.unknown().exactOptional(),
  max_per_second: z.unknown().exactOptional(),
} satisfies Record<keyof TenantOptions, z.ZodType>);

const newEndpoint = z.strictObject({
  subscriber: z.string(),
  name: z.unknown().exactOptional(),
  options: tenantOptions.default({}),
});

const endpointChange = z.strictObject({
  subscriber: z.string().exactOptional(),
  name: z.unknown().exactOptional(),
  options: tenantOptions.exactOptional(),
  secret: z.unknown().exactOptional(),
});

/** Only what tenants may set. The route checks the values. @throws RefusedRequest */
async function checkBody(
  context: ApiDependencies,
  body: Uint8Array,
  admission: Admission,
): Promise<Uint8Array> {
  const { check } = admission.route;
  if (check === undefined) return body;
  switch (check) {
    case 'payload':
      return body;
    case 'test':
      return checkTest(body, admission);
    case 'create':
      return checkCreation(body, admission);
    case 'change':
      return checkChange(context, body, admission);
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

function checkCreation(body: Uint8Array, { session, portal: { limits } }: Admission): Uint8Array {
  const given = readFields(newEndpoint, body);
  const options = withDefaultRate(given.options, limits);
  requireNone([
    ...hostFaults(given.subscriber, limits),
    ...optionFaults(options, limits, session.eventTypes),
  ]);
  return toBytes({ ...given, options });
}

async function checkChange(
  context: ApiDependencies,
  body: Uint8Array,
  admission: Admission,
): Promise<Uint8Array> {
  const { session, portal } = admission;
  const given = readFields(endpointChange, body);
  const options = given.options && withDefaultRate(given.options, portal.limits);
  requireNone([
    ...(given.subscriber === undefined ? [] : hostFaults(given.subscriber, portal.limits)),
    ...(options === undefined ? [] : optionFaults(options, portal.limits, session.eventTypes)),
  ]);
  if (options === undefined) return toBytes(given);
  return toBytes({ ...given, options: { ...(await keptOptions(context, admission, given)), ...options } });
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

function requireNone(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalidFields(faults);
}

function toBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The options that only operators change, since a change replaces all. Credentials do not go to another host. */
async function keptOptions(
  context: ApiDependencies,
  { queue, params }: Admission,
  { subscriber }: { subscriber?: string },
): Promise<object> {
  const key = subscriptionKey({ queue: queue.name, subscription: params['subscription'] ?? '' });
  const current = await presentSubscription(context, key);
  const isMoved = subscriber !== undefined && hasNewOrigin(current.destination, parseDestination(subscriber));
  const options: TenantOptions = isMoved
    ? withoutCredentials(current.options)
    : subscriptionView(current, context.clock.now()).options;
  const { event_types: _types, filter: _filter, max_per_second: _rate, ...kept } = options;
  return kept;
}

/** @throws RefusedRequest `conflict` where the queue has all endpoints that a tenant may have */
async function requireRoom(context: ApiDependencies, { queue, portal }: Admission): Promise<void> {
  const { endpoints } = portal.limits;
  if ((await countEndpoints(context, queue.name, endpoints)) < endpoints) return;
  throw noRoom(endpoints);
}

export function noRoom(endpoints: number): RefusedRequest {
  return new RefusedRequest(
    'conflict',
    `there can be at most ${endpoints} endpoint${endpoints === 1 ? '' : 's'}`,
  );
}

/** Up to one more than `most`. */
export async function countEndpoints(
  { registry, clock }: ApiDependencies,
  queue: string,
  most: number,
): Promise<number> {
  let count = 0;
  let marker: string | undefined;
  do {
    const page = await registry.listSubscriptions(queue, { limit: 100, marker });
    count += page.items.filter((one) => isPresent(one, clock.now())).length;
    ({ marker } = page);
  } while (marker !== undefined && count <= most);
  return count;
}
