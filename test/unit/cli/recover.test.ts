import { describe, expect, it } from 'vitest';
import { isOver, progressText, type Look } from '../../../cli/commands/recover/recover.ts';
import { removeSettledNotices } from '../../../cli/dead-letters/change.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { ID, SUBSCRIPTIONS } from './delivery-views.ts';
import { jsonLines, ctrlC, captured, withSdkVariables } from './run-command.ts';
import { json, stubApi, type StubRoutes } from './stub-api.ts';
import { deployed, notice, RECOVERY, type Standing } from './undeliverable-deployment.ts';

const recovery = (state: string, found: number) => ({ ...RECOVERY, state, found, reopened: found });
const RECOVERIES = '/v2/queues/orders/recoveries';

const outcome = (delivered: number, failed: number, open: number, more: object = {}) => ({
  subscriptionId: 's-1',
  total: delivered + failed + open,
  delivered,
  failed,
  open,
  ...more,
});

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
    const { press, options } = ctrlC();
    const routes = looking({ state: 'completed', outcomes: [outcome(2, 0, 3)] });
    const api = await stubApi({
      ...routes,
      [`GET ${RECOVERIES}/r1`]: (request, index) => {
        if (index > 1) press();
        return routes[`GET ${RECOVERIES}/r1`]?.(request, index) ?? json({});
      },
    });
    const run = await api.run([...wait, '--json'], options);
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

const START = Date.UTC(2026, 0, 2);
const MINUTE = 60_000;

const outcomes = (delivered: number, failed: number, open: number, nextAttemptAt?: number) => ({
  ...outcome(delivered, failed, open),
  ...(nextAttemptAt !== undefined && { nextAttemptAt }),
});

const look = (at: number, seen: readonly RecoveryOutcomes[] | undefined, state = 'completed'): Look => ({
  at: START + at,
  outcomes: seen,
  recovery: {
    id: 'r1',
    queue: 'orders',
    since: '',
    until: '',
    state: state as Look['recovery']['state'],
    found: 7,
    reopened: 5,
    skipped: { open: 2 },
    createdAt: '',
    updatedAt: '',
  },
});

describe('the progress of a recovery', () => {
  it('estimates the time left from the pace since the first look', () => {
    const first = look(0, [outcomes(0, 0, 1_200)]);
    expect(progressText(first, look(2 * MINUTE, [outcomes(480, 20, 700)]))).toBe(
      '480 of 1,200 delivered, 20 failed again, about 2 min left',
    );
    expect(progressText(first, look(5 * MINUTE, [outcomes(500, 0, 700)]))).toBe(
      '500 of 1,200 delivered, about 7 min left',
    );
  });

  it('does not count what had ended before the first look', () => {
    const first = look(0, [outcomes(1_000, 0, 200)]);
    expect(progressText(first, look(MINUTE, [outcomes(1_100, 0, 100)]))).toContain('about 1 min left');
  });

  it('waits at least for the planned attempts of every subscription', () => {
    const first = look(0, [outcomes(0, 0, 10)]);
    const later = [
      outcomes(8, 0, 1, START + 3 * MINUTE),
      { ...outcomes(0, 0, 1, START + 3 * 60 * MINUTE), subscriptionId: 's-2' },
    ];
    expect(progressText(first, look(MINUTE, later))).toBe('8 of 10 delivered, about 2 h left');
  });

  it('shows the next attempt as long as there is no pace', () => {
    const seen = [outcomes(3, 0, 7, START + 40_000)];
    expect(progressText(look(0, seen), look(10_000, seen))).toBe('3 of 10 delivered, next attempt in 30 s');
    expect(progressText(look(0, seen), look(MINUTE, seen))).toBe('3 of 10 delivered');
    expect(progressText(look(0, [outcomes(0, 0, 2)]), look(MINUTE, [outcomes(0, 0, 2)]))).toBe(
      '0 of 2 delivered',
    );
  });

  it('makes no estimate while the recovery still looks for deliveries', () => {
    const first = look(0, [outcomes(0, 0, 10)], 'running');
    const next = look(MINUTE, [outcomes(20, 0, 10)], 'running');
    expect(progressText(first, next)).toBe('20 of 30 delivered, looking for more');
  });

  it('shows the counts of the recovery where the outcomes are not known', () => {
    const unknown = look(0, undefined, 'running');
    expect(progressText(unknown, unknown)).toBe('7 found, 5 reopened, 2 skipped');
  });

  it('is over when the recovery has ended and nothing is open', () => {
    expect(isOver(look(0, [outcomes(1, 1, 0)]))).toBe(true);
    expect(isOver(look(0, [outcomes(1, 1, 0)], 'stopped'))).toBe(true);
    expect(isOver(look(0, [outcomes(1, 1, 1)]))).toBe(false);
    expect(isOver(look(0, [], 'running'))).toBe(false);
    expect(isOver(look(0, undefined))).toBe(true);
  });
});

describe('a recovery that was awaited', () => {
  const captureErrors = (environment: NodeJS.ProcessEnv) => {
    const host = captured(environment);
    return { terminal: terminalIn(host), said: () => String(host.stderr.read() ?? '') };
  };
  const choice = { deployment: 'Posthaste' };
  const ACCEPTED: Record<string, Standing> = {
    before: { status: 'delivered', attempts: 3, acceptedAt: '2025-12-31T23:59:59.999Z' },
    first: { status: 'delivered', attempts: 3, acceptedAt: RECOVERY.since },
    failed: { status: 'exhausted', attempts: 2, acceptedAt: RECOVERY.since },
    after: { status: 'delivered', attempts: 3, acceptedAt: RECOVERY.until },
    expired: { status: 'delivered', attempts: 3 },
  };

  it('removes the settled notices of the deliveries that it covers: of its queue, subscription, status and window', async () => {
    const { environment, deadLetters } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors(environment);
    const run = (selection: object) =>
      withSdkVariables(environment, () =>
        removeSettledNotices(0, { ...RECOVERY, ...selection }, choice, terminal),
      );
    for (const other of [{ queue: 'others' }, { subscription: 's2' }, { status: 'rejected' }])
      await run(other);
    expect(deadLetters.size).toBe(5);
    await run({ subscription: 's1', status: 'exhausted' });
    expect([...deadLetters.values()]).toEqual(
      ['before', 'failed', 'after', 'expired'].map((id) => notice(id)),
    );
    expect(said()).toBe(
      'Removed 1 settled notice from the undeliverable queue of Posthaste, account 111122223333, us-east-1.\n',
    );
  });

  it('removes them if it was started so; a look at it changes nothing', async () => {
    const { posthaste: there, deadLetters } = await deployed(ACCEPTED);
    expect((await there('recover', 'status', 'orders', 'r1', '--wait', '--json')).status).toBe(0);
    expect(deadLetters.size).toBe(5);
    const { status, stderr } = await there('recover', 'start', 'orders', '--since', '1h', '--wait', '--json');
    expect(status).toBe(0);
    expect(stderr).toContain('of Posthaste, account 111122223333');
    expect(deadLetters.size).toBe(4);
  });

  it('removes nothing where only the address of the API is given: the queues found may not belong to it', async () => {
    const { environment, deadLetters } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors({
      ...environment,
      POSTHASTE_API_URL: 'https://api.example.com',
    });
    const run = () => removeSettledNotices(0, RECOVERY, {}, terminal);
    expect(await withSdkVariables(environment, run)).toBe(0);
    expect({ left: deadLetters.size, said: said() }).toEqual({ left: 5, said: '' });
  });

  it('says how to remove them if it cannot', async () => {
    const { environment } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors(environment);
    await withSdkVariables(environment, () =>
      removeSettledNotices(1, RECOVERY, { deployment: 'Nowhere' }, terminal),
    );
    expect(said()).toMatch(
      /^Settled notices stay in the undeliverable queue \(There is no deployment Nowhere.*deadletters delete undeliverable --settled\n$/,
    );
  });
});
