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

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';

const SUBSCRIPTIONS: StubRoutes = {
  'GET /v2/queues/orders/subscriptions': () => {
    const subscription = { source: 'orders', name: 'ACME', subscriber: 'https://example.com/', options: {} };
    return json({
      subscriptions: [{ id: ID, ...subscription, ttl: null, age: 1, confirmed: true }],
      links: [],
    });
  },
};

type Looked = {
  state: string;
  found?: number;
  skipped?: object;
  outcomes: readonly object[];
  known?: boolean;
};

/** The routes of the recovery `r1`. Each look at it shows the next of `looks`; the last one stays. */
const looking = (...looks: readonly Looked[]): StubRoutes => {
  let look = 0;
  let shown = looks[0];
  return {
    [`GET ${RECOVERIES}/r1`]: () => {
      shown = looks[Math.min(look++, looks.length - 1)];
      const { state = '', found = 9, skipped = {} } = shown ?? {};
      return json({ ...recovery(state, found), skipped });
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
      ...SUBSCRIPTIONS,
      'GET /v2/queues/orders': () => json({}),
      ...looking({ state: 'completed', outcomes: [] }),
      [`GET ${RECOVERIES}/r1/outcomes`]: ({ path }) =>
        path.includes('marker=next')
          ? json({ known: true, subscriptions: [outcome(400, 15, 0)], links: [] })
          : json({
              known: true,
              subscriptions: [
                outcome(80, 5, 0),
                { ...outcome(0, 0, 3, { nextAttemptAt }), subscriptionId: ID },
              ],
              links: [{ rel: 'next', href: `${RECOVERIES}/r1/outcomes?marker=next` }],
            }),
    });
    const { status, stdout } = await api.run(['recover', 'status', 'orders', 'r1']);
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /\nSubscription +Subscriber +Total +Delivered +Failed again +Open +Next attempt\n/,
    );
    expect(stdout).toMatch(/\ns-1 +\(deleted\) +500 +480 +20 +0\n/);
    expect(stdout).toMatch(/\n5b0c0f1e +ACME +3 +0 +0 +3 +2026-01-02 \d\d:05:00\n/);
  });

  it('says that the outcomes of an earlier version are not known, and waits for the recovery alone', async () => {
    const known = { known: false, outcomes: [] };
    const api = await stubApi(looking({ state: 'running', ...known }, { state: 'completed', ...known }));
    const { status, stdout, stderr } = await api.run(wait);
    expect(status).toBe(1);
    expect(stderr).toContain('ran it. Waiting only until the recovery has ended.');
    expect(stdout).toContain('What became of its deliveries is not known');
    expect(jsonLines((await api.run([...wait, '--json'])).stdout)).toMatchObject([{ outcomes: null }]);
  });

  it.each([
    ['delivered', 0, { outcomes: [outcome(9, 0, 0)] }, /^Recovery(?!.*on record)/s],
    [
      'skipped',
      1,
      { skipped: { body_gone: 1 }, outcomes: [outcome(9, 0, 0)] },
      /9 found, 9 reopened, 1 skipped/,
    ],
    [
      'off the record',
      1,
      { outcomes: [outcome(5, 0, 0)] },
      /\n4 of the reopened deliveries are no longer on record\.\n$/,
    ],
    [
      'all off the record',
      1,
      { outcomes: [] },
      /\n\n9 of the reopened deliveries are no longer on record\.\n$/,
    ],
  ])('proves that every delivery arrived: %s', async (_, expected, looked, text) => {
    const api = await stubApi({ ...SUBSCRIPTIONS, ...looking({ state: 'completed', ...looked }) });
    const { status, stdout } = await api.run(wait);
    expect(status).toBe(expected);
    expect(stdout).toMatch(text);
  });

  it('fails if the awaited recovery was stopped', async () => {
    const stopped = recovery('stopped', 3);
    const api = await stubApi(looking({ ...stopped, outcomes: [outcome(3, 0, 0)] }));
    const { status, stdout } = await api.run([...wait, '--json']);
    expect(status).toBe(1);
    expect(jsonLines(stdout)).toMatchObject([stopped]);
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
