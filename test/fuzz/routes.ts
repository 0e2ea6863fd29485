import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import * as z from 'zod';
import { apiUnderTest, NOON, PUBLIC_URL } from '../unit/api/api-under-test.ts';
import { requestApi, wholeApi } from '../support/whole-api.ts';
import { nearly } from './input.ts';
import {
  checkAnswer,
  checkStored,
  type FuzzedRequest,
  lines,
  NAMES,
  requestOf,
  requestsTo,
  routesIn,
  SECRET,
  SUBSCRIPTION,
} from './requests.ts';
import { target, type Target } from './target.ts';
import { recordAll, recordMessage } from '../unit/api/api-under-test.ts';

/** The API on in-memory ports, with a queue and a subscription that has credentials. */
export const apiWithCredentials = async () => {
  // A test of a subscription waits for its delivery, which nothing makes here.
  const time = { now: NOON };
  const sleep = (ms: number): Promise<void> => Promise.resolve(void (time.now += ms));
  const api = apiUnderTest({ clock: { now: () => time.now, sleep } });
  await api.call('PUT', '/v2/queues/orders', {});
  const { status } = await api.call('POST', '/v2/queues/orders/subscriptions', SUBSCRIPTION);
  assert.equal(status, 201);
  await recordMessage(api, { messageId: NAMES.message, acceptedAt: NOON - 1_000 });
  await recordAll(api, [
    { messageId: NAMES.message, subscriptionId: NAMES.subscription, status: 'exhausted' },
  ]);
  const whole = wholeApi(api.dependencies);
  const caller = { principal: 'fuzz', requestId: 'r' };
  return {
    api,
    fetch: async (url: URL, init: RequestInit): Promise<Response> =>
      requestApi(whole, url, init, { caller, publicUrl: PUBLIC_URL }),
  };
};

type World = Awaited<ReturnType<typeof apiWithCredentials>>;

const check = async ({ api, fetch }: World, given: FuzzedRequest): Promise<boolean> => {
  const request = requestOf(given, PUBLIC_URL);
  const response = await fetch(request.url, request.init);
  const answered = await response.text();
  const [fault] = api.faults.splice(0);
  assert(fault === undefined, String(fault?.fault.stack));
  assert(!JSON.stringify(api.changes.splice(0)).includes(SECRET), 'a secret is in the audit trail');
  const isAccepted = checkAnswer(given, response.status, answered);
  if (isAccepted) {
    const stored = { called: request.url.pathname, body: request.init.body, answered };
    await checkStored(given, stored, async (method, path) => (await api.call(method, path)).body);
  }
  return isAccepted;
};

/** Every route with requests that are nearly valid, on new tables for each round. */
const routes: Target = {
  name: 'routes of the API',
  weight: 3,
  run: async (options) => {
    const world = await apiWithCredentials();
    const document = (await world.api.call('GET', '/v2/openapi.json')).body;
    return target(routes.name, requestsTo(routesIn(document)), (given) => check(world, given), {
      shrinks: false,
    }).run(options);
  },
};

/** What an import accepts is exported, and its export imported into another queue is exported as the same. */
const importFiles: Target = {
  name: 'import files',
  weight: 1,
  run: async (options) => {
    const { api, fetch } = await apiWithCredentials();
    let queues = 0;
    const emptyQueue = async (): Promise<string> => {
      const path = `/v2/queues/import-${++queues}`;
      await fetch(new URL(`${PUBLIC_URL}${path}`), { method: 'PUT' });
      return path;
    };
    const imported = async (queue: string, body: string): Promise<ImportAnswer> => {
      const response = await fetch(new URL(`${PUBLIC_URL}${queue}/import`), { method: 'POST', body });
      assert(response.status < 500, String(api.faults[0]?.fault.stack));
      return importAnswer.parse(response.ok ? await response.json() : {});
    };
    // Of two subscriptions of one moment, either may be listed first.
    const exportOf = async (queue: string): Promise<string[]> =>
      (await api.text('GET', `${queue}/export`)).split('\n').toSorted();
    return target(
      importFiles.name,
      fc.oneof(
        lines,
        lines.chain((text) => nearly([text])),
      ),
      async (text) => {
        const [first, second] = [await emptyQueue(), await emptyQueue()];
        const { imported: count } = await imported(first, text);
        // Without those that have secrets, which are exported as ***.
        const exported = (await exportOf(first)).filter((line) => !line.includes('"***"'));
        const again = await imported(second, exported.join('\n'));
        assert.deepEqual(again.failed, []);
        assert.deepEqual(await exportOf(second), exported);
        return count > 0;
      },
    ).run(options);
  },
};

const importAnswer = z.object({ imported: z.number().default(0), failed: z.array(z.unknown()).default([]) });

type ImportAnswer = z.infer<typeof importAnswer>;

export const apiTargets: readonly Target[] = [routes, importFiles];
