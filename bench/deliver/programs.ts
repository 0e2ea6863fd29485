import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStubAws, subscriptionIdAt, type StubAws } from '../harness/stub-aws.ts';
import { startFunction, type MeasuredFunction } from './function.ts';

/** What is measured: the function, the one before it, a bare program with the same calls and request, and the request alone. */
export const contestants = ['dispatch', 'deliver', 'bare', 'post'] as const;
export type Contestant = (typeof contestants)[number];

export type Programs = Record<Contestant, MeasuredFunction> & { stub: StubAws };

/** A fan-out that is compared: all of one chunk. */
export const FAN_OUT = 10;

/** The widest fan-out that is compared: ten chunks. */
export const WIDE = 100;

const SUBSCRIBERS = 10;

/** Of a connection, not of a message. */
const OF_CONNECTION = new Set(['host', 'connection', 'content-length']);

export async function startPrograms(stack: AsyncDisposableStack): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS });
  const started = (name: string, entry: string, env = {}) =>
    startFunction(stack, {
      name,
      entry: new URL(entry, import.meta.url),
      env: { ...stub.environment, ...env },
      folder,
    });
  const dispatch = await started('dispatch', '../../functions/dispatch/handler.ts');
  const deliver = await started('deliver', '../../functions/deliver/handler.ts');
  // What the bare programs repeat: requests of ours for a delivery by itself, and for a chunk.
  for (const fanOut of [1, FAN_OUT]) {
    stub.addQueue(`template-${fanOut}`, fanOut);
    await dispatch(ingressMessages(`template-${fanOut}`, 1));
    await deliver(stub.takeJobs());
  }
  const { headers, ...requests } = stub.lastRequests();
  const template = {
    ...requests,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name))),
    urls: Object.fromEntries(
      Array.from({ length: WIDE }, (_, index) => [subscriptionIdAt(index), stub.subscriberAt(index)]),
    ),
  };
  const file = join(folder, 'template.json');
  await writeFile(file, JSON.stringify(template));
  const bare = await started('bare-calls', 'bare-calls.ts', { BENCH_TEMPLATE: file });
  const post = await started('bare-post', 'bare-post.ts', { BENCH_TEMPLATE: file });
  return { stub, dispatch, deliver, bare, post };
}

/** Bytes of a message's data. */
export const DATA_BYTES = 1_000;

/** Bodies of the ingress queue: orders as a shop might tell of them. */
export function ingressMessages(queue: string, count: number): string[] {
  return Array.from({ length: count }, () => {
    const lines = Array.from({ length: 8 }, (_, index) => ({
      sku: `SKU-${1000 + index}`,
      name: 'Ordinary thing',
      quantity: 2,
      price: 1995,
    }));
    const customer = { id: 4711, name: 'Erika Mustermann', country: 'DE' };
    const order = { orderId: randomUUID(), customer, lines, total: 31920, note: '' };
    const data = { ...order, note: 'x'.repeat(DATA_BYTES - JSON.stringify(order).length) };
    return JSON.stringify({ queue, id: randomUUID(), type: 'order.created', data });
  });
}
