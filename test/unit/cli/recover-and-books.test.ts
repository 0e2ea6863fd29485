import { afterAll, describe, expect, it } from 'vitest';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, stubApi, type StubRoutes } from './stub-api.ts';

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

const outcome = (delivered: number, failed: number, open: number, more: object = {}) => ({
  subscriptionId: 's-1',
  total: delivered + failed + open,
  delivered,
  failed,
  open,
  ...more,
});

type Looked = { state: string; found?: number; outcomes: readonly object[]; known?: boolean };

/** The routes of the recovery `r1`. Each look at it shows the next of `looks`; the last one stays. */
const looking = (...looks: readonly Looked[]): StubRoutes => {
  let look = 0;
  let shown = looks[0];
  return {
    [`GET ${RECOVERIES}/r1`]: () => {
      shown = looks[Math.min(look++, looks.length - 1)];
      return json(recovery(shown?.state ?? '', shown?.found ?? 9));
    },
    [`GET ${RECOVERIES}/r1/outcomes`]: () => {
      const { outcomes = [], known = true } = shown ?? {};
      return json({ known, subscriptions: outcomes, links: [] });
    },
  };
};

describe('posthaste recover', () => {
  const since = ['--since', '2026-01-01T00:00:00Z', '--until', '2026-01-02T01:00:00+01:00'];
  const wait = ['recover', 'status', 'orders', 'r1', '--wait'];

  it('starts a recovery and waits until its deliveries have ended', async () => {
    const api = await stubApi({
      [`POST ${RECOVERIES}`]: () => json(recovery('running', 0), 202),
      ...looking(
        { state: 'running', found: 5, outcomes: [outcome(1, 0, 4)] },
        { state: 'completed', outcomes: [outcome(5, 0, 4)] },
        { state: 'completed', outcomes: [outcome(9, 0, 0)] },
      ),
    });
    const args = ['recover', 'start', 'orders', ...since, '--status', 'exhausted', '--wait', '--json'];
    const { status, stdout } = await api.run(args);
    expect({ status, lines: jsonLines(stdout) }).toEqual({
      status: 0,
      lines: [{ ...recovery('completed', 9), outcomes: [outcome(9, 0, 0)] }],
    });
    expect(JSON.parse(api.requests[0]?.body ?? '')).toEqual({
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      status: 'exhausted',
    });
  });

  it('starts a recovery without waiting, and says how to follow it', async () => {
    const api = await stubApi({ [`POST ${RECOVERIES}`]: () => json(recovery('running', 0), 202) });
    const { status, stdout } = await api.run(['recover', 'start', 'orders', ...since]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Recovery +r1\n/);
    expect(stdout).toContain('posthaste -- recover status orders r1 --wait');
    expect(api.requests).toHaveLength(1);
  });

  it('ends with a table per subscription, over all pages, and fails if a delivery failed again', async () => {
    const nextAttemptAt = '2026-01-02T00:05:00.000Z';
    const api = await stubApi({
      ...looking({ state: 'completed', outcomes: [] }),
      [`GET ${RECOVERIES}/r1/outcomes`]: ({ path }) =>
        path.includes('marker=next')
          ? json({ known: true, subscriptions: [outcome(400, 15, 0)], links: [] })
          : json({
              known: true,
              subscriptions: [
                outcome(80, 5, 0),
                { ...outcome(0, 0, 3, { nextAttemptAt }), subscriptionId: 's-2' },
              ],
              links: [{ rel: 'next', href: `${RECOVERIES}/r1/outcomes?marker=next` }],
            }),
    });
    const { status, stdout } = await api.run(['recover', 'status', 'orders', 'r1']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/\nSubscription +Total +Delivered +Failed again +Open +Next attempt\n/);
    expect(stdout).toMatch(/\ns-1 +500 +480 +20 +0\n/);
    expect(stdout).toMatch(/\ns-2 +3 +0 +0 +3 +2026-01-02 \d\d:05:00\n/);
  });

  it('says that the outcomes of an earlier version are not known, and waits for the recovery alone', async () => {
    const known = { known: false, outcomes: [] };
    const api = await stubApi(looking({ state: 'running', ...known }, { state: 'completed', ...known }));
    const { status, stdout } = await api.run(wait);
    expect(status).toBe(0);
    expect(stdout).toContain('What became of its deliveries is not known');
    expect(jsonLines((await api.run([...wait, '--json'])).stdout)).toMatchObject([{ outcomes: null }]);
  });

  it('fails if the awaited recovery was stopped', async () => {
    const api = await stubApi(looking({ state: 'stopped', found: 3, outcomes: [outcome(3, 0, 0)] }));
    const { status, stdout } = await api.run(wait);
    expect(status).toBe(1);
    expect(stdout).toContain('3 found, 3 reopened, 0 skipped');
  });

  it('stops waiting on Ctrl-C, and prints what is left', async () => {
    let interrupt = (): void => undefined;
    const routes = looking({ state: 'completed', outcomes: [outcome(2, 0, 3)] });
    const api = await stubApi({
      ...routes,
      [`GET ${RECOVERIES}/r1`]: (request, index) => {
        if (index > 1) interrupt();
        return routes[`GET ${RECOVERIES}/r1`]?.(request, index) ?? json({});
      },
    });
    const run = await api.run([...wait, '--json'], {
      onStart: (command) => {
        ({ interrupt } = command);
      },
    });
    expect({ status: run.status, lines: jsonLines(run.stdout) }).toEqual({
      status: 130,
      lines: [{ ...recovery('completed', 9), outcomes: [outcome(2, 0, 3)] }],
    });
    expect(run.stderr).toContain('the recovery is completed, deliveries still open: 3.');
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
          ...(links.length > 0 && { countedUntil: '2026-01-01T12:00:00.000Z' }),
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

  it('shows the sums so far while it adds up the pages', async () => {
    const { stderr } = await (
      await answers(8, 8)
    ).run(args, {
      onStart: ({ stdin, stderr: output }) => {
        Object.assign(output, { isTTY: true });
        stdin.end();
      },
    });
    expect(stderr).toContain(
      '[###############---------------]  50%  10 messages counted, 8 delivered, 1 rejected, 1 exhausted, 1 cancelled, 1 pending',
    );
    expect(stderr).toContain('20 messages counted, 16 delivered');
  });

  it('reports on one subscription', async () => {
    const api = await answers(8);
    const { status, stdout } = await api.run([...args, '--subscription', 's-1', '--json']);
    expect(status).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([{ queue: 'orders', subscription: 's-1', balances: true }]);
    const { searchParams } = new URL(api.requests[0]?.path ?? '', 'http://api');
    expect(searchParams.get('subscription')).toBe('s-1');
  });

  it('fails if the sums do not balance, even if each page claims to', async () => {
    const { status, stdout } = await (await answers(8, 7)).run(args);
    expect(status).toBe(1);
    expect(stdout).toMatch(/matched +24 .*\n +delivered +15  accepted by the subscriber\n/);
    expect(stdout).toContain('The report does not balance.');
  });
});
