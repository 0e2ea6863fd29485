import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import {
  type Api,
  faultOf,
  HOOK,
  NOON,
  QUEUE,
  recordAll,
  recordMessage,
  refusal,
  SUBSCRIPTIONS,
} from './api-under-test.ts';
import { apiWithPortal, HOUR, portalCalls } from './portal-under-test.ts';

let api: Api;

const { open, through } = portalCalls(() => api);

beforeEach(async () => {
  api = await apiWithPortal();
});

describe('deliveries in the portal', () => {
  const attempt = anAttempt({ result: answered(500, 'inner page') });

  const recorded = async () => {
    await api.subscribe();
    await recordMessage(api, { messageId: 'm-1', acceptedAt: api.time.now });
    await recordAll(api, [{ messageId: 'm-1', subscriptionId: 'id-1', attempts: [attempt] }]);
  };

  it('show what the receiver answered, unless requests may go to private networks', async () => {
    for (const responseBodies of [true, false]) {
      api = await apiWithPortal({ responseBodies });
      await recorded();
      const by = through(await open());
      const seen = await by('deliveries', 'GET', '/messages/m-1/deliveries/id-1');
      expect(seen).toMatchObject({ status: 200, body: { attempts: [{ statusCode: 500 }] } });
      expect(JSON.stringify(seen.body).includes('inner page')).toBe(responseBodies);
    }
  });

  it('show what the receiver answered only by the right to see deliveries', async () => {
    await recorded();
    const by = through(await open({ capabilities: ['retry'] }));
    const retried = await by('retry', 'POST', '/messages/m-1/deliveries/id-1/retry');
    expect(retried).toMatchObject({ status: 202, body: { attempts: [{ statusCode: 500 }] } });
    expect(JSON.stringify(retried.body)).not.toContain('inner page');
  });

  it('are those of the queue as it is now, although an earlier one of the name had others', async () => {
    await recorded();
    await api.call('DELETE', `${QUEUE}?now=true`);
    api.time.now += HOUR;
    await api.call('PUT', QUEUE);
    const by = through(await open());
    for (const rest of ['', '/payload'])
      expect(await by('deliveries', 'GET', `/messages/m-1/deliveries/id-1${rest}`)).toMatchObject(
        refusal('not_found'),
      );
    expect(await by('retry', 'POST', '/messages/m-1/deliveries/id-1/retry')).toMatchObject(
      refusal('not_found'),
    );
    api.time.now += 1000;
    const since = new Date(NOON - HOUR).toISOString();
    const lists = [
      `/deliveries?since=${since}`,
      `/deliveries?deleted=true`,
      `/deliveries?until=${new Date(NOON + 1).toISOString()}`,
    ];
    const none = { status: 200, body: { deliveries: [] } };
    for (const rest of lists) expect(await by('deliveries', 'GET', rest)).toMatchObject(none);
    api.time.now += 48 * HOUR;
    const later = through(await open());
    for (const rest of ['', '?since=1970-01-01T00:00:00Z', '?since=2026-11-21t11:00:00z'])
      expect(await later('deliveries', 'GET', `/deliveries${rest}`)).toMatchObject(none);
  });

  it('and recoveries and charts are not those of an earlier queue of the name', async () => {
    await recorded();
    const counters = { ...noCounters(), messages: 7 };
    await api.statistics.add({ queue: 'orders', at: NOON, counters, expiresAt: NOON + HOUR });
    const window = { since: new Date(NOON - HOUR).toISOString(), until: new Date(NOON).toISOString() };
    const { body } = await api.call('POST', `${QUEUE}/recoveries`, window);
    const { id } = z.object({ id: z.string() }).parse(body);
    await api.call('POST', `${QUEUE}/recoveries`, window);
    await api.call('DELETE', `${QUEUE}?now=true`);
    api.time.now += HOUR;
    await api.call('PUT', QUEUE);
    api.time.now += HOUR;
    const by = through(await open());
    const until = new Date(NOON + 1000).toISOString();
    for (const rest of ['?step=86400', `?step=3600&until=${until}`, '?step=60'])
      expect(await by('see', 'GET', `/statistics${rest}`)).toMatchObject({
        status: 200,
        body: { total: { messages: 0 } },
      });
    // A link to the next page would name the last one.
    for (const rest of ['', '?limit=1'])
      expect(await by('retry', 'GET', `/recoveries${rest}`)).toMatchObject({
        status: 200,
        body: { recoveries: [], links: [] },
      });
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/outcomes'],
      ['DELETE', ''],
    ] as const)
      expect(await by('retry', method, `/recoveries/${id}${rest}`)).toMatchObject(refusal('not_found'));
  });

  it('have a payload only where there is a delivery', async () => {
    await recorded();
    await recordMessage(api, { messageId: 'm-2' });
    const by = through(await open());
    const payload = (message: string) =>
      by('deliveries', 'GET', `/messages/${message}/deliveries/id-1/payload`);
    expect((await payload('m-1')).status).toBe(200);
    expect(await payload('m-2')).toMatchObject(refusal('not_found'));
  });
});

describe('a hostile tenant', () => {
  it('keeps no endpoint in a queue that is deleted while it is created', async () => {
    const by = through(await open());
    const takeRoom = api.registry.takeRoom.bind(api.registry);
    api.registry.takeRoom = async (...room) => {
      await api.registry.deleteQueue('orders', api.time.now);
      await api.registry.removeDeletedQueue('orders', () => true);
      await api.call('PUT', QUEUE);
      return takeRoom(...room);
    };
    const answer = await by('manage', 'POST', '/subscriptions', { subscriber: HOOK });
    expect(answer).toMatchObject(refusal('conflict'));
    expect(await api.get(SUBSCRIPTIONS)).toMatchObject({ subscriptions: [] });
    expect((await by('see', 'GET', '/subscriptions')).status).toBe(401);
  });

  it('is refused a filter that is nested too deeply, as an operator is', async () => {
    await api.subscribe();
    const by = through(await open());
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    for (const [method, rest] of [
      ['POST', '/subscriptions'],
      ['PATCH', '/subscriptions/id-1'],
    ] as const)
      expect(
        await by('manage', method, rest, `{"subscriber":"${HOOK}/2","options":{"filter":${deep}}}`),
      ).toMatchObject({ status: 400, body: faultOf('invalid_request', 'body') });
    expect(api.faults).toEqual([]);
  });
});
