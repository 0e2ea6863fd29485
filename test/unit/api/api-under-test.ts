import { expect } from 'vitest';
import { subscriberUrlFault } from '../../../shared/adapters/address-guard.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry-policy.ts';
import type { Caller, Change } from '../../../functions/api/audit.ts';
import { createApi } from '../../../functions/api/app.ts';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../../support/in-memory/in-memory-message-records.ts';
import { inMemorySubscriptions } from '../../support/in-memory/in-memory-subscriptions.ts';

/** 2026-11-21T12:00:00.000Z */
export const NOON = Date.UTC(2026, 10, 21, 12);

export const CALLER: Caller = { principal: 'arn:aws:iam::000000000000:user/ada', requestId: 'request-1' };

export type Answer = { status: number; headers: Headers; body: unknown };

/** The API on in-memory ports, and all that it writes to. */
export const apiUnderTest = (overrides: Partial<ApiDependencies> = {}) => {
  const time = { now: NOON };
  const clock = { now: () => time.now, sleep: () => Promise.resolve() };
  const registry = inMemorySubscriptions(clock);
  const records = inMemoryMessageRecords();
  const deliveries = inMemoryDeliveries();
  const published: string[] = [];
  const changes: (Caller & Change)[] = [];
  const faults: { fault: Error; caller: Caller }[] = [];
  let ids = 0;
  const api = createApi({
    registry,
    records,
    deliveries,
    ingress: {
      publish: (messages) => {
        published.push(...messages.map(({ body }) => body));
        return Promise.resolve();
      },
    },
    clock,
    newId: () => `id-${++ids}`,
    defaultRetryPolicy: DEFAULT_RETRY_POLICY,
    subscriberFault: (url) => subscriberUrlFault(url, []),
    audit: (caller, change) => changes.push({ ...caller, ...change }),
    reportFault: (fault, caller) => faults.push({ fault, caller }),
    ...overrides,
  });

  /** A string or bytes are sent as they are, anything else as JSON. */
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const init = body === undefined ? { method } : { method, body: sendable(body) };
    const response = await api.request(path, init, { caller: CALLER });
    const text = await response.text();
    const answer: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: answer };
  };

  /** All that a request could have changed. */
  const world = async () => {
    const { items: queues } = await registry.listQueues({ limit: 1000 });
    const subscriptions = await Promise.all(
      queues.map(({ name }) => registry.listSubscriptions(name, { limit: 1000 })),
    );
    return { queues, subscriptions, published: [...published], changes: [...changes] };
  };

  return { call, world, time, registry, records, deliveries, published, changes, faults };
};

const sendable = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array
    ? new Uint8Array(Buffer.from(body))
    : JSON.stringify(body);

const anyText: unknown = expect.stringMatching(/./);

/** An error answer with these fields at fault, whatever it says of them. */
export const faultOf = (code: string, ...fields: string[]) => ({
  error: {
    code,
    message: anyText,
    ...(fields.length > 0 && { fields: fields.map((field) => ({ field, message: anyText })) }),
  },
});
