import { afterAll, describe, expect, it } from 'vitest';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const recovery = (state: string, found: number) => ({
  id: 'r1',
  queue: 'orders',
  since: '2026-01-01T00:00:00.000Z',
  until: '2026-01-02T00:00:00.000Z',
  state,
  found,
  reopened: found,
  skipped: {},
  createdAt: '2026-01-02T00:00:00.000Z',
  updatedAt: '2026-01-02T00:00:00.000Z',
});
const RECOVERIES = '/v2/queues/orders/recoveries';

describe('posthaste recover', () => {
  const since = ['--since', '2026-01-01T00:00:00Z', '--until', '2026-01-02T01:00:00+01:00'];

  it('starts a recovery and waits for its end', async () => {
    let looks = 0;
    const api = await stubApi({
      [`POST ${RECOVERIES}`]: () => json(recovery('running', 0), 202),
      [`GET ${RECOVERIES}/r1`]: () => json(looks++ === 0 ? recovery('running', 5) : recovery('completed', 9)),
    });
    const args = ['recover', 'start', 'orders', ...since, '--status', 'exhausted', '--wait', '--json'];
    const { status, stdout } = await api.run(args);
    expect({ status, lines: jsonLines(stdout) }).toEqual({ status: 0, lines: [recovery('completed', 9)] });
    expect(JSON.parse(api.requests[0]?.body ?? '')).toEqual({
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      status: 'exhausted',
    });
  });

  it('fails if the awaited recovery was stopped', async () => {
    const api = await stubApi({ [`GET ${RECOVERIES}/r1`]: () => json(recovery('stopped', 3)) });
    const { status, stdout } = await api.run(['recover', 'status', 'orders', 'r1', '--wait']);
    expect(status).toBe(1);
    expect(stdout).toContain('3 found, 3 reopened, 0 skipped');
  });

  it('leaves the recovery running on Ctrl-C, and prints its progress', async () => {
    let interrupt = (): void => undefined;
    const api = await stubApi({
      [`GET ${RECOVERIES}/r1`]: (_, index) => {
        if (index > 0) interrupt();
        return json(recovery('running', 5));
      },
    });
    const run = await api.run(['recover', 'status', 'orders', 'r1', '--wait', '--json'], {
      onStart: (command) => {
        ({ interrupt } = command);
      },
    });
    expect({ status: run.status, lines: jsonLines(run.stdout) }).toEqual({
      status: 130,
      lines: [recovery('running', 5)],
    });
    expect(api.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('lists and stops recoveries', async () => {
    const api = await stubApi({
      [`GET ${RECOVERIES}`]: () => json({ recoveries: [recovery('running', 1)], links: [] }),
      [`DELETE ${RECOVERIES}/r1`]: () => ({ status: 204, body: '' }),
    });
    expect(jsonLines((await api.run(['recover', 'list', 'orders', '--json'])).stdout)).toEqual([
      recovery('running', 1),
    ]);
    expect((await api.run(['recover', 'stop', 'orders', 'r1'])).stdout).toBe('Stopped recovery r1.\n');
  });
});

describe('posthaste books', () => {
  const window = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' };
  const books = (delivered: number) => ({
    accepted: 10,
    duplicates: 1,
    matched: 12,
    unmatched: 2,
    unfinished: 0,
    filtered: 3,
    delivered,
    rejected: 1,
    exhausted: 1,
    cancelled: 1,
    pending: 1,
  });
  const answers = (...delivered: number[]) =>
    stubApi({
      'GET /v2/queues/orders/books': ({ path }) => {
        const index = Number(new URL(path, 'http://api').searchParams.get('marker') ?? 0);
        const href = `/v2/queues/orders/books?marker=${index + 1}`;
        const links = index + 1 < delivered.length ? [{ rel: 'next', href }] : [];
        return json({
          queue: 'orders',
          ...window,
          books: books(delivered[index] ?? 0),
          balances: true,
          links,
        });
      },
    });
  const args = ['books', 'orders', '--since', window.since, '--until', window.until];

  it('adds up the pages', async () => {
    const { status, stdout } = await (await answers(8, 8)).run([...args, '--json']);
    expect(status).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      {
        queue: 'orders',
        ...window,
        books: { accepted: 20, matched: 24, delivered: 16, pending: 2 },
        balances: true,
      },
    ]);
  });

  it('fails if the sums do not balance, even if each page claims to', async () => {
    const { status, stdout } = await (await answers(8, 7)).run(args);
    expect(status).toBe(1);
    expect(stdout).toMatch(/matched +24 .*\n +delivered +15  accepted by the subscriber\n/);
    expect(stdout).toContain('The report does not balance.');
  });
});
