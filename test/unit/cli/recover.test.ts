import { describe, expect, it } from 'vitest';
import { isOver, progressText, type Look } from '../../../cli/commands/recover/follow.ts';
import { clockTime } from '../../../cli/output/text.ts';
import { removeSettledNotices } from '../../../cli/dead-letters/change.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { AT, attempt, ID, listed, OF_QUEUE, page, SUBSCRIPTIONS } from './delivery-views.ts';
import { captured, ctrlC, sleepBriefly, withSdkVariables } from './run-command.ts';
import { json, MORE, NO_CONTENT, refusal, runOn } from './stub-api.ts';
import { deployed, notice, RECOVERY, type Standings } from './undeliverable-deployment.ts';

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
const looking = (...looks: readonly Looked[]) => {
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
  const BEGIN = 'recover start orders --since 2026-01-01T00:00:00Z --until 2026-01-02T01:00:00+01:00';
  const WAIT = 'recover status orders r1 --wait';
  const started = { [`POST ${RECOVERIES}`]: json(recovery('running', 0), 202) };

  it('starts a recovery and waits until its deliveries have ended', async () => {
    const looks = looking(
      { state: 'running', found: 5, outcomes: [outcome(1, 0, 4)] },
      { state: 'completed', outcomes: [outcome(5, 0, 4)] },
      { state: 'completed', outcomes: [outcome(9, 0, 0)] },
    );
    const run = await runOn({ ...started, ...looks }, `${BEGIN} --status exhausted --wait --json`);
    expect(run.status).toBe(0);
    expect(run.lines).toEqual([{ ...recovery('completed', 9), outcomes: [outcome(9, 0, 0)] }]);
    expect(JSON.parse(run.requests[0]?.body ?? '')).toEqual({
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      status: 'exhausted',
    });
  });

  it('starts a recovery without waiting, and says how to follow it', async () => {
    const { status, stdout, requests } = await runOn(started, BEGIN);
    expect({ status, asked: requests.length }).toEqual({ status: 0, asked: 1 });
    expect(stdout).toMatch(/^Recovery +r1\n.*posthaste -- recover status orders r1 --wait/s);
  });

  it('ends with a table per subscription, over all pages, and fails if a delivery failed again', async () => {
    const waiting = outcome(0, 0, 3, { subscriptionId: ID, nextAttemptAt: '2026-01-02T00:05:00.000Z' });
    const first = { known: true, subscriptions: [outcome(80, 5, 0), waiting], links: MORE };
    const second = { known: true, subscriptions: [outcome(400, 15, 0)], links: [] };
    const routes = {
      ...SUBSCRIPTIONS,
      ...looking({ state: 'completed', outcomes: [] }),
      [`GET ${RECOVERIES}/r1/outcomes`]: ({ path }: { path: string }) =>
        json(path.includes('marker=more') ? second : first),
    };
    const { status, stdout } = await runOn(routes, 'recover status orders r1');
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /\nSubscription +Subscriber +Total +Delivered +Failed again +Open +Next attempt\n/,
    );
    expect(stdout).toMatch(/\ns-1 +\(deleted\) +500 +480 +20 +0\n/);
    expect(stdout).toMatch(/\n5b0c0f1e +ACME +3 +0 +0 +3 +2026-01-02 \d\d:05:00\n/);
  });

  it('says that the outcomes of an earlier version are not known, and waits for the recovery alone', async () => {
    const known = { known: false, outcomes: [] };
    const routes = () => looking({ state: 'running', ...known }, { state: 'completed', ...known });
    const { status, stdout, stderr } = await runOn(routes(), WAIT);
    expect(status).toBe(1);
    expect(stderr).toContain('ran it. Waiting only until the recovery has ended.');
    expect(stdout).toContain('What became of its deliveries is not known');
    expect((await runOn(routes(), `${WAIT} --json`)).lines).toMatchObject([{ outcomes: null }]);
  });

  const all = [outcome(9, 0, 0)];

  it.each([
    ['delivered', 0, { outcomes: all }, /^Recovery(?!.*on record)/s],
    ['skipped', 1, { skipped: { body_gone: 1 }, outcomes: all }, /9 found, 9 reopened, 1 skipped/],
    ['stopped', 1, { state: 'stopped', outcomes: all }, /^State +stopped,/m],
    ['off the record', 1, { outcomes: [outcome(5, 0, 0)] }, /\n4 of the .* no longer on record\.\n$/],
    ['all off the record', 1, { outcomes: [] }, /\n\n9 of the reopened .* no longer on record\.\n$/],
  ])('proves that every delivery arrived: %s', async (_, expected, looked, text) => {
    const routes = { ...SUBSCRIPTIONS, ...looking({ state: 'completed', ...looked }) };
    const { status, stdout } = await runOn(routes, WAIT);
    expect(status).toBe(expected);
    expect(stdout).toMatch(text);
  });

  it('names what it left if it found nothing', async () => {
    const none = looking({ state: 'completed', found: 0, outcomes: [] });
    const open = [AT, '2026-01-01T00:00:09.000Z'].map((nextAttemptAt) => ({ ...listed, nextAttemptAt }));
    const cancelled = { ...listed, status: 'cancelled', reason: 'manual' };
    const routes = (...deliveries: object[]) => ({ ...none, [OF_QUEUE]: page(...deliveries) });
    const { status, stdout, requests } = await runOn(routes(...open, cancelled), WAIT);
    expect(status).toBe(0);
    expect(stdout).toMatch(/\n\nIt found nothing that had failed\. A recovery leaves alone .* delivered\.\n/);
    expect(stdout).toContain(
      `\n2 deliveries are open, the next attempt is due at ${clockTime(AT)}.\nTo send `,
    );
    expect(stdout).toMatch(/ retry orders MESSAGE SUBSCRIPTION\n$/);
    expect(requests.at(-1)?.path).toContain(`since=${encodeURIComponent(RECOVERY.since)}`);
    expect((await runOn(routes(), WAIT)).stdout).not.toContain('deliveries are open');
  });

  it('says what to do about what was skipped, for each reason', async () => {
    const skipped = { subscription_absent: 1, body_gone: 2, fault: 1 };
    const { stdout } = await runOn(looking({ state: 'completed', skipped, outcomes: all }), WAIT);
    expect(stdout).toMatch(/\nsubscription_absent: .* Enable it .* send QUEUE MESSAGE --to SUBSCRIPTION\n/);
    expect(stdout).toContain('\nbody_gone: the data of the message is not kept: publish the message again');
    expect(stdout).toMatch(/\nfault: .*Start the recovery again\.\n$/);
  });

  it('stops waiting on Ctrl-C, and prints what is left', async () => {
    const { press, options } = ctrlC();
    const looks = looking({ state: 'completed', outcomes: [outcome(2, 0, 3)] });
    const look = looks[`GET ${RECOVERIES}/r1`];
    const pressing = (_: unknown, index: number) => {
      if (index > 1) press();
      return look();
    };
    const run = await runOn({ ...looks, [`GET ${RECOVERIES}/r1`]: pressing }, `${WAIT} --json`, options);
    expect(run.status).toBe(130);
    expect(run.lines).toEqual([{ ...recovery('completed', 9), outcomes: [outcome(2, 0, 3)] }]);
    expect(run.stderr).toContain('the recovery is completed, deliveries still open: 3.');
    expect(run.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('recovers by the time of the failure, and says so', async () => {
    const byFailure = { ...recovery('running', 0), by: 'failure' };
    const run = await runOn({ [`POST ${RECOVERIES}`]: json(byFailure, 202) }, `${BEGIN} --by failure`);
    expect(JSON.parse(run.requests[0]?.body ?? '')).toHaveProperty('by', 'failure');
    expect(run.stdout).toMatch(/^Failed {2,}20/m);
  });

  describe('of all queues', () => {
    const ALL = 'recover start --all-queues --since 2026-01-01T00:00:00Z';
    const queues = ['bills', 'broken', 'orders', 'quiet'];
    const listed = {
      queues: queues.map((name) => ({ name, href: `/v2/queues/${name}`, metadata: {} })),
      links: [],
    };

    /** The routes of a recovery of a queue, with what became of its deliveries once it is completed. */
    const routesOf = (queue: string, result: { delivered: number; failed: number }) => {
      const found = result.delivered + result.failed;
      const path = `/v2/queues/${queue}/recoveries`;
      const subscriptions = found === 0 ? [] : [outcome(result.delivered, result.failed, 0)];
      return {
        [`POST ${path}`]: json({ ...recovery('running', 0), queue }, 202),
        [`GET ${path}/r1`]: json({ ...recovery('completed', found), queue }),
        [`GET ${path}/r1/outcomes`]: json({ known: true, subscriptions, links: [] }),
      };
    };
    const routes = (failed: number) => ({
      'GET /v2/queues': json(listed),
      ...routesOf('bills', { delivered: 2, failed }),
      ...routesOf('broken', { delivered: 0, failed: 0 }),
      ...routesOf('orders', { delivered: 9, failed: 0 }),
      ...routesOf('quiet', { delivered: 0, failed: 0 }),
    });
    const refused = {
      'POST /v2/queues/broken/recoveries': refusal(400, 'invalid_request', 'since is too early'),
    };

    it('ends with one table of those with failed deliveries, and one sum', async () => {
      const { status, stdout } = await runOn(routes(0), `${ALL} --wait`);
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^Queue +Recovery +State +Found +Reopened +Skipped +Delivered +Failed again +Open\n/,
      );
      expect(stdout).toMatch(
        /\nbills +r1 +completed +2 +2 +0 +2 +0 +0\norders +r1 +completed +9 +9 +0 +9 +0 +0\n/,
      );
      expect(stdout).toMatch(/\nAll 4 queues +11 +11 +0 +11 +0 +0\n$/);
    });

    it('fails if a delivery of one failed again', async () => {
      const { status, lines } = await runOn(routes(1), `${ALL} --wait --json`);
      expect(status).toBe(1);
      expect(lines).toHaveLength(4);
      expect(lines[0]).toMatchObject({ queue: 'bills', found: 3, outcomes: [outcome(2, 1, 0)] });
    });

    it.each([' --wait', ' --json'])(
      'recovers the others if a queue refuses it, and fails%s',
      async (options) => {
        const { status, stdout, stderr } = await runOn({ ...routes(0), ...refused }, ALL + options);
        expect(status).toBe(1);
        expect(stderr).toMatch(/^Queue broken is not recovered: .*since is too early$/m);
        expect(stdout).toContain('orders');
      },
    );

    it('says that none has a failed delivery', async () => {
      const none = { ...routes(0), ...routesOf('bills', { delivered: 0, failed: 0 }) };
      const { status, stdout } = await runOn(
        { ...none, ...routesOf('orders', { delivered: 0, failed: 0 }) },
        `${ALL} --wait`,
      );
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'Nothing to recover on 4 queues.\n' });
    });

    it('starts them without waiting, and says how to follow one', async () => {
      const { status, stdout } = await runOn(routes(0), ALL);
      expect(status).toBe(0);
      expect(stdout).toMatch(/\nquiet +r1\nTo follow one: .* recover status QUEUE RECOVERY --wait\n$/);
    });
  });

  it('lists and stops recoveries', async () => {
    const routes = {
      [`GET ${RECOVERIES}`]: json({ recoveries: [recovery('running', 1)], links: [] }),
      [`DELETE ${RECOVERIES}/r1`]: NO_CONTENT,
    };
    const { lines } = await runOn(routes, 'recover list orders --json');
    expect(lines).toEqual([recovery('running', 1)]);
    expect((await runOn(routes, 'recover stop orders r1')).stdout).toBe('Stopped recovery r1.\n');
  });
});

const START = Date.UTC(2026, 0, 2);
const MINUTE = 60_000;

const outcomes = (delivered: number, failed: number, open: number, nextAttemptAt?: number) =>
  outcome(delivered, failed, open, nextAttemptAt === undefined ? {} : { nextAttemptAt });

const look = (
  at: number,
  seen: readonly RecoveryOutcomes[] | undefined,
  state: RecoveryView['state'] = 'completed',
): Look => ({
  at: START + at,
  reports: [
    { outcomes: seen, recovery: { ...RECOVERY, state, found: 7, reopened: 5, skipped: { open: 2 } } },
  ],
});

describe('the progress of a recovery', () => {
  type Seen = [delivered: number, failed: number, open: number];

  it.each<[number, Seen, Seen, string]>([
    [2, [0, 0, 1_200], [480, 20, 700], '480 of 1,200 delivered, 20 failed again, about 2 min left'],
    [5, [0, 0, 1_200], [500, 0, 700], '500 of 1,200 delivered, about 7 min left'],
    // What had ended before the first look does not count.
    [1, [1_000, 0, 200], [1_100, 0, 100], '1,100 of 1,200 delivered, about 1 min left'],
    [1, [0, 0, 2], [0, 0, 2], '0 of 2 delivered'],
  ])('estimates the time left from the pace: in %i min from %j to %j', (minutes, first, last, text) => {
    const seen = look(minutes * MINUTE, [outcomes(...last)]);
    expect(progressText(look(0, [outcomes(...first)]), seen)).toBe(text);
  });

  it('waits at least for the planned attempts of every subscription', () => {
    const first = look(0, [outcomes(0, 0, 10)]);
    const later = [
      outcomes(8, 0, 1, START + 3 * MINUTE),
      { ...outcomes(0, 0, 1, START + 180 * MINUTE), subscriptionId: 's-2' },
    ];
    expect(progressText(first, look(MINUTE, later))).toBe('8 of 10 delivered, about 2 h left');
  });

  it('shows the next attempt as long as there is no pace', () => {
    const seen = [outcomes(3, 0, 7, START + 40_000)];
    expect(progressText(look(0, seen), look(10_000, seen))).toBe('3 of 10 delivered, next attempt in 30 s');
    expect(progressText(look(0, seen), look(MINUTE, seen))).toBe('3 of 10 delivered');
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

  it.each([
    ['with nothing open', true, look(0, [outcomes(1, 1, 0)])],
    ['when it was stopped', true, look(0, [outcomes(1, 1, 0)], 'stopped')],
    ['where outcomes are not known', true, look(0, undefined)],
    ['with an open delivery', false, look(0, [outcomes(1, 1, 1)])],
    ['while it runs', false, look(0, [], 'running')],
  ])('ends %s: %s', (_, ends, seen) => {
    expect(isOver(seen)).toBe(ends);
  });
});

describe('a recovery that was awaited', () => {
  const accepted = { status: 'delivered', attempts: 3 };
  const ACCEPTED: Standings = {
    before: { ...accepted, acceptedAt: '2025-12-31T23:59:59.999Z' },
    first: { ...accepted, acceptedAt: RECOVERY.since },
    failed: { status: 'exhausted', attempts: 2, acceptedAt: RECOVERY.since },
    after: { ...accepted, acceptedAt: RECOVERY.until },
    expired: accepted,
  };

  /** A deployment with their notices, the removal of those that a recovery settled, and what it has said. */
  const settling = async (env: NodeJS.ProcessEnv = {}, choice: object = { deployment: 'Posthaste' }) => {
    const { environment, deadLetters, run } = await deployed(ACCEPTED);
    const host = captured({ ...environment, ...env });
    const remove = (selection: object = {}) =>
      withSdkVariables(environment, () =>
        removeSettledNotices(0, { ...RECOVERY, ...selection }, choice, terminalIn(host, sleepBriefly)),
      );
    return { remove, deadLetters, run, said: () => String(host.stderr.read() ?? '') };
  };

  it('removes the settled notices of the deliveries that it covers: of its queue, subscription, status and window', async () => {
    const { remove, deadLetters, said } = await settling();
    for (const other of [{ queue: 'others' }, { subscription: 's2' }, { status: 'rejected' }])
      await remove(other);
    expect(deadLetters.size).toBe(5);
    await remove({ subscription: 's1', status: 'exhausted' });
    expect([...deadLetters.values()]).toEqual(
      ['before', 'failed', 'after', 'expired'].map((id) => notice(id)),
    );
    expect(said()).toBe(
      'Removed 1 settled notice from the undeliverable queue of Posthaste, account 111122223333, us-east-1.\n',
    );
  });

  it('removes those of deliveries that failed in the window, of all queues where none is given', async () => {
    const { remove, deadLetters } = await settling();
    const at = Date.parse(attempt.startedAt) + attempt.durationMs;
    const window = (since: number, until: number) => ({
      by: 'failure',
      queue: undefined,
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
    });
    await remove(window(at + 1, at + 2));
    await remove(window(at - 1, at));
    expect(deadLetters.size).toBe(5);
    await remove(window(at, at + 1));
    expect([...deadLetters.values()]).toEqual([notice('failed')]);
  });

  it('removes them if it was started so; a look at it changes nothing', async () => {
    const { run, deadLetters } = await settling();
    expect((await run('recover status orders r1 --wait --json')).status).toBe(0);
    expect(deadLetters.size).toBe(5);
    const { status, stderr } = await run('recover start orders --since 1h --wait --json');
    expect({ status, left: deadLetters.size }).toEqual({ status: 0, left: 4 });
    expect(stderr).toContain('of Posthaste, account 111122223333');
  });

  it('removes nothing where only the address of the API is given: the queues found may not belong to it', async () => {
    const env = { POSTHASTE_API_URL: 'https://api.example.com' };
    const { remove, deadLetters, said } = await settling(env, {});
    expect(await remove()).toBe(0);
    expect({ left: deadLetters.size, said: said() }).toEqual({ left: 5, said: '' });
  });

  it('says how to remove them if it cannot', async () => {
    const { remove, said } = await settling({}, { deployment: 'Nowhere' });
    await remove();
    expect(said()).toMatch(
      /^Settled notices stay in the undeliverable queue \(There is no deployment Nowhere.*deadletters delete undeliverable --settled\n$/,
    );
  });
});
