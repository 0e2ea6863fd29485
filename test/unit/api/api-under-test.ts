import { lazySchemaCheck, lazyValidation } from '../../../shared/adapters/pattern/lazy-validation.ts';
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import * as z from 'zod';
import type { Caller, Change } from '../../../functions/api/audit.ts';
import { subscriberFault } from '../../../shared/adapters/http/address-guard.ts';
import { tokenUrlFault } from '../../../shared/adapters/http/guarded-fetch.ts';
import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import { render } from '../../../shared/domain/message/payload.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import { apiDescription } from '../../support/api-description.ts';
import { aDelivery, type DeliveryFields } from '../../support/delivery-builders.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { inMemoryEventTypes } from '../../support/in-memory/in-memory-event-types.ts';
import { inMemoryPortalSessions } from '../../support/in-memory/in-memory-portal-sessions.ts';
import { inMemoryQueueStatistics } from '../../support/in-memory/in-memory-queue-statistics.ts';
import { inMemoryOperations, type QueuedOperation } from '../../support/in-memory/in-memory-queues.ts';
import { inMemoryRecoveries } from '../../support/in-memory/in-memory-recoveries.ts';
import { inMemorySecrets } from '../../support/in-memory/in-memory-secrets.ts';
import { inMemorySubscriptions } from '../../support/in-memory/in-memory-subscriptions.ts';
import { requestApi, wholeApi, type WholeDependencies } from '../../support/whole-api.ts';
import { chunkedDeliveries } from '../../../functions/api/deliveries/chunked-deliveries.ts';
import { inMemoryChunks, inMemoryDeliveryListings } from '../../support/in-memory/in-memory-deliveries.ts';
import {
  inMemoryMessageListings,
  inMemoryMessageRecords,
  inMemoryPayloads,
} from '../../support/in-memory/in-memory-messages.ts';
import { inMemoryOperatorEvents } from '../../support/in-memory/in-memory-journal.ts';
import { inMemoryRateLimits } from '../../support/in-memory/in-memory-pace.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** 2026-11-21T12:00:00.000Z */
export const NOON = Date.UTC(2026, 10, 21, 12);

export const CALLER: Caller = { principal: 'arn:aws:iam::000000000000:user/ada', requestId: 'request-1' };

export const PUBLIC_URL = 'https://hooks.posthaste.example';

export const HOOK = 'https://hooks.example/orders';

export const QUEUE = '/v2/queues/orders';

export const SUBSCRIPTIONS = `${QUEUE}/subscriptions`;

/** The first subscription of an API. */
export const ONE = `${SUBSCRIPTIONS}/id-1`;

const DOCUMENT = '/v2/openapi.json';

/** Lambda quotas, "Invocation payload (synchronous)". */
export const LAMBDA_BYTES = 6_291_556;

const pageSchema = z.looseObject({
  links: z.array(z.strictObject({ rel: z.literal('next'), href: z.string() })),
});

const itemsSchema = z.array(z.record(z.string(), z.unknown()));

export type Answer = { status: number; headers: Headers; body: unknown };

/** The API on in-memory ports, with access to everything that it writes. */
export const apiUnderTest = (overrides: Partial<WholeDependencies> = {}) => {
  const time = { now: NOON, waits: [] as number[] };
  const clock = {
    now: () => time.now,
    sleep: (milliseconds: number): Promise<void> => {
      time.waits.push(milliseconds);
      time.now += milliseconds;
      return Promise.resolve();
    },
  };
  const registry = inMemorySubscriptions(clock);
  const messageRecords = inMemoryMessageRecords();
  const deliveries = inMemoryDeliveries();
  const statistics = inMemoryQueueStatistics();
  const payloads = inMemoryPayloads();
  const secrets = inMemorySecrets();
  const recoveries = inMemoryRecoveries();
  const eventTypes = inMemoryEventTypes();
  const portalSessions = inMemoryPortalSessions();
  const operatorEvents = inMemoryOperatorEvents();
  const queued: QueuedOperation[] = [];
  const published: string[] = [];
  const jobs: DeliveryJob[] = [];
  const wakeUps: WakeUp[] = [];
  const changes: (Caller & Change)[] = [];
  const faults: { fault: Error; caller: Caller }[] = [];
  let ids = 0;
  const dependencies: WholeDependencies = {
    registry,
    messageRecords,
    messageListings: inMemoryMessageListings(messageRecords),
    statistics,
    payloads,
    render,
    deliveries: chunkedDeliveries({ deliveries, chunks: inMemoryChunks(deliveries, messageRecords) }),
    deliveryListings: inMemoryDeliveryListings(deliveries),
    rateLimits: inMemoryRateLimits(clock),
    ingress: {
      publish: (messages) => {
        published.push(...messages.map(({ body }) => body));
        return Promise.resolve();
      },
    },
    recoveries,
    eventTypes,
    checkSchema: lazySchemaCheck(),
    eventChecks: { eventTypes, validateEvent: lazyValidation() },
    portalSessions,
    operations: inMemoryOperations(queued),
    operatorEvents,
    queueDepths: {
      approximate: () =>
        Promise.resolve({
          ingress: { waiting: 0, delayed: 4 },
          ingressDeadLetters: { waiting: 2, delayed: 0 },
        }),
    },
    deliveryQueue: {
      send: (sent) => {
        jobs.push(...structuredClone(sent));
        return Promise.resolve();
      },
    },
    settings: {
      version: '1.2.3',
      userAgent: 'Posthaste/test',
      defaultRetryPolicy: DEFAULT_RETRY_POLICY,
      adaptToThrottling: false,
      holdWhileDown: false,
      retryThrottled: false,
      retentionMs: 30 * DAY_MS,
      retryAfterCapMs: 3_600_000,
      archiveMs: 7 * DAY_MS,
      attemptTimeoutMs: 15_000,
      subscriptionCacheMs: 5_000,
      overdueAfterMs: 30_000,
      subscriptionConfirmation: false,
      eventValidation: 'off',
      queueStatistics: true,
      queueLimit: { subscriptions: 100_000, bytes: 2 ** 26 },
      jwtScopes: undefined,
      jwtQueuesClaim: undefined,
      portal: undefined,
    },
    secretSealer: secrets,
    secretOpener: secrets,
    wakeUps: {
      sendDelayed: (wakeUp) => {
        wakeUps.push(wakeUp);
        return Promise.resolve();
      },
      unschedule: () => Promise.resolve('absent'),
    },
    journal: { note: () => undefined },
    clock,
    randomBytes,
    newId: () => `id-${++ids}`,
    subscriberFault: (subscriber) => subscriberFault(subscriber, { allowedAddresses: [] }),
    tokenUrlFault: (url) => tokenUrlFault(url, { allowedAddresses: [] }),
    audit: (caller, change) => changes.push({ ...caller, ...change }),
    reportFault: (fault, caller) => faults.push({ fault, caller }),
    ...overrides,
  };
  const api = wholeApi(dependencies);

  /** Sends strings and bytes unchanged, anything else as JSON. */
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const init = { method, headers, ...(body === undefined ? {} : { body: sendable(body) }) };
    const response = await requestApi(api, path, init, { caller: CALLER, publicUrl: PUBLIC_URL });
    const text = await response.text();
    const sent = body === undefined ? undefined : jsonOf(body);
    if (path !== DOCUMENT) {
      const faultsOf = await faultsByDescription();
      expect(faultsOf({ method, path, sent, response, text })).toEqual([]);
    }
    const isJson = /^application\/json(?:;|$)/.test(response.headers.get('content-type') ?? '');
    const answer: unknown = isJson ? JSON.parse(text) : text === '' ? undefined : text;
    return { status: response.status, headers: response.headers, body: answer };
  };

  /** The body of the response as text. */
  const text = async (method: string, path: string): Promise<string> => {
    const response = await requestApi(api, path, { method }, { caller: CALLER, publicUrl: PUBLIC_URL });
    return response.text();
  };

  /** The body of an answer with status 200. */
  const get = async (path: string): Promise<unknown> => {
    const { status, body } = await call('GET', path);
    expect(status, path).toBe(200);
    return body;
  };

  /** The link of a page to the next one. */
  const nextOf = async (path: string): Promise<string> => {
    const [link] = pageSchema.parse(await get(path)).links;
    if (link === undefined) throw new Error(`${path} is the last page`);
    return link.href;
  };

  /** A field of each item of a list, page by page. Checks that Lambda can return each page. */
  const pages = async (first: string, list: string, field: string): Promise<string[][]> => {
    const found: string[][] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const body = await get(path);
      expect(Buffer.byteLength(JSON.stringify({ body: JSON.stringify(body) }))).toBeLessThan(LAMBDA_BYTES);
      const { links, [list]: items } = pageSchema.parse(body);
      found.push(itemsSchema.parse(items).map((item) => String(item[field])));
      path = links[0]?.href;
    }
    return found;
  };

  /** Subscribes to the queue `orders`. */
  const subscribe = (fields: object = {}): Promise<Answer> =>
    call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ...fields });

  /** Changes the first subscription. */
  const patch = (fields: object): Promise<Answer> => call('PATCH', ONE, fields);

  /** The record of a subscription of the queue `orders`. */
  const stored = async (id = 'id-1'): Promise<Subscription> => {
    const subscription = await registry.findSubscription('orders', id);
    if (subscription === undefined) throw new Error(`There is no subscription ${id}`);
    return subscription;
  };

  /** Everything that a request can change. */
  const world = async () => {
    const { items: queues } = await registry.listQueues({ limit: 1000 });
    const subscriptions = await Promise.all(
      queues.map(({ name }) => registry.listSubscriptions(name, { limit: 1000 })),
    );
    return { queues, subscriptions, published: [...published], changes: [...changes] };
  };

  return {
    call,
    get,
    pages,
    nextOf,
    subscribe,
    patch,
    stored,
    text,
    dependencies,
    world,
    time,
    registry,
    messageRecords,
    deliveries,
    statistics,
    payloads,
    secrets,
    recoveries,
    eventTypes,
    portalSessions,
    operatorEvents,
    queued,
    published,
    jobs,
    wakeUps,
    changes,
    faults,
  };
};

export type Api = ReturnType<typeof apiUnderTest>;

let describedFaults: ReturnType<typeof apiDescription> | undefined;

/** Lists the parts of a request and response that the served OpenAPI document does not describe. */
export const faultsByDescription = async (): Promise<ReturnType<typeof apiDescription>> => {
  describedFaults ??= apiDescription((await apiUnderTest().call('GET', DOCUMENT)).body);
  return describedFaults;
};

const jsonOf = (body: unknown): unknown =>
  typeof body === 'string' || body instanceof Uint8Array
    ? parseJson(Buffer.from(body).toString())?.value
    : body;

const sendable = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array
    ? new Uint8Array(Buffer.from(body))
    : JSON.stringify(body);

const anyText: unknown = expect.stringMatching(/./);

/** An error response that names these fields, with any message. */
export const faultOf = (code: string, ...fields: string[]) => ({
  error: {
    code,
    message: anyText,
    ...(fields.length > 0 && { fields: fields.map((field) => ({ field, message: anyText })) }),
  },
});

const STATUS = {
  invalid_json: 400,
  invalid_request: 400,
  invalid_retry_policy: 400,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  inactive: 409,
  too_large: 413,
  internal: 500,
};

/** The `world` of an API that changed nothing. */
export const NOTHING = { queues: [], subscriptions: [], published: [], changes: [] };

/** The answer with such an error response. */
export const refusal = (code: keyof typeof STATUS, ...fields: string[]) => ({
  status: STATUS[code],
  body: faultOf(code, ...fields),
});

/** The refusal of a request whose fields are invalid. */
export const invalid = (...fields: string[]) => refusal('invalid_request', ...fields);

type Stores = Pick<Api, 'messageRecords' | 'deliveries'>;

/** The API with a queue `orders`. */
export const apiWithOrders = async (...overrides: Parameters<typeof apiUnderTest>): Promise<Api> => {
  const api = apiUnderTest(...overrides);
  await api.dependencies.registry.ensureQueue({ name: 'orders', metadata: {}, createdAt: 0 });
  return api;
};

/** The API with the subscription `id-1` of a queue `orders`. */
export const apiWithSubscription = async (fields: object = {}): Promise<Api> => {
  const api = apiUnderTest();
  await api.subscribe(fields);
  return api;
};

/** The pages of a list, which `read` reads, from the path `first` on. */
export const pagesFrom = async <Page extends { links: readonly { href: string }[] }>(
  read: (path: string) => Promise<Page>,
  first: string,
): Promise<Page[]> => {
  const pages: Page[] = [];
  for (let path: string | undefined = first; path !== undefined; path = pages.at(-1)?.links[0]?.href)
    pages.push(await read(path));
  return pages;
};

/** Writes records of deliveries in the queue `orders`, by default accepted at noon. */
export const recordAll = async (
  { deliveries }: Pick<Stores, 'deliveries'>,
  all: readonly (Omit<DeliveryFields, 'key'> &
    Partial<Pick<DeliveryKey, 'messageId' | 'subscriptionId' | 'bucket'>>)[],
): Promise<Delivery[]> => {
  const created = all.map(
    ({ messageId = randomUUID(), subscriptionId = randomUUID(), bucket = 0, ...more }) => {
      const key = { queue: 'orders', messageId, subscriptionId, bucket };
      return aDelivery({ key, acceptedAt: NOON, status: 'retrying', ...more });
    },
  );
  for (const create of created)
    await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
  return created;
};

/** Writes the record of a message in the queue `orders`. */
export const recordMessage = async (
  { messageRecords }: Pick<Stores, 'messageRecords'>,
  { messageId, ...more }: Partial<Omit<MessageRecord, 'key'>> & { messageId: string },
): Promise<void> => {
  await messageRecords.accept({
    key: { queue: 'orders', messageId },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: NOON + 1,
    ...more,
  });
};
