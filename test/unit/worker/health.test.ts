import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HealthServer, startHealthServer } from '../../../worker/health.ts';
import type { WorkerState } from '../../../worker/run.ts';

let server: HealthServer;
let state: WorkerState;

beforeEach(async () => {
  state = { status: 'starting', queues: { delivery: { inFlight: 0 } } };
  server = await startHealthServer({ host: '127.0.0.1', port: 0 }, () => state);
});

afterEach(() => server.close());

const statusOf = async (path: string, method = 'GET'): Promise<number> =>
  (await fetch(`${server.url}${path}`, { method })).status;

it.each([
  ['starting', 503],
  ['ready', 200],
  ['stopping', 503],
] as const)('a worker that is %s answers /ready with %i, and /health with 200', async (status, expected) => {
  state = { ...state, status };
  expect(await statusOf('/ready')).toBe(expected);
  expect(await statusOf('/health')).toBe(200);
});

it('shows the state with the messages in flight', async () => {
  state = { status: 'ready', queues: { delivery: { inFlight: 3 } } };
  const response = await fetch(`${server.url}/ready`);
  expect(await response.json()).toEqual(state);
});

it('has no other route, and changes nothing', async () => {
  expect(await statusOf('/')).toBe(404);
  expect(await statusOf('/health?x=1')).toBe(404);
  expect(await statusOf('/health', 'POST')).toBe(405);
});
