import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

describe('GET /v2/queues', () => {
  const withQueues = async (count: number) => {
    const { call } = apiUnderTest();
    const names = Array.from({ length: count }, (_, index) => `q${String(index).padStart(3, '0')}`);
    for (const name of names) await call('PUT', `/v2/queues/${name}`, { of: name });
    return { call, names };
  };

  it('answers with an empty list if there are no queues', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', '/v2/queues')).toMatchObject({ status: 200, body: { queues: [], links: [] } });
  });

  it('lists names and paths, and metadata only on request', async () => {
    const { call } = await withQueues(1);
    const entry = { name: 'q000', href: '/v2/queues/q000' };
    expect((await call('GET', '/v2/queues')).body).toEqual({ queues: [entry], links: [] });
    expect((await call('GET', '/v2/queues?detailed=false')).body).toEqual({ queues: [entry], links: [] });
    expect((await call('GET', '/v2/queues?detailed=true')).body).toEqual({
      queues: [{ ...entry, metadata: { of: 'q000' } }],
      links: [],
    });
  });

  it('accepts True and False, as python-zaqarclient sends them', async () => {
    const { call } = await withQueues(1);
    expect((await call('GET', '/v2/queues?detailed=True')).body).toHaveProperty('queues.0.metadata');
    expect((await call('GET', '/v2/queues?detailed=False')).body).not.toHaveProperty('queues.0.metadata');
    expect(await call('GET', '/v2/queues?detailed=yes')).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'detailed'),
    });
  });

  it.each([
    ['/v2/queues', [10, 10, 5]],
    ['/v2/queues?limit=7', [7, 7, 7, 4]],
    ['/v2/queues?limit=25', [25]],
    ['/v2/queues?limit=100', [25]],
    ['/v2/queues?limit=12&detailed=true', [12, 12, 1]],
  ])('pages through %s by links', async (first, sizes) => {
    const { call, names } = await withQueues(25);
    const seen: string[] = [];
    const seenSizes: number[] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const { body } = await call('GET', path);
      const page = body as { queues: { name: string; metadata?: unknown }[]; links: { href: string }[] };
      expect(
        page.queues.every((queue) => (queue.metadata !== undefined) === first.includes('detailed')),
      ).toBe(true);
      seen.push(...page.queues.map(({ name }) => name));
      seenSizes.push(page.queues.length);
      path = page.links[0]?.href;
    }
    expect(seen).toEqual(names);
    expect(seenSizes).toEqual(sizes);
  });

  it('ignores unknown query parameters', async () => {
    const { call } = await withQueues(1);
    expect(await call('GET', '/v2/queues?with_count=true')).toMatchObject({ status: 200 });
  });
});
