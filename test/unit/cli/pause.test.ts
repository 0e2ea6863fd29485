import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { AT, ID, listed, ONE as DELIVERY, page, retrying, subscription } from './delivery-views.ts';
import { FORBIDDEN, json, runOn, type StubRoutes } from './stub-api.ts';

const ONE = `/v2/queues/orders/subscriptions/${ID}`;
const QUEUE = '/v2/queues/orders';
const SINCE = '2026-01-01T08:00:00.000Z';
const UNTIL = '2036-01-01T09:00:00.000Z';
const OWN = { since: SINCE, until: UNTIL, by: 'subscription' };
const BY_QUEUE = { since: SINCE, by: 'queue' };
const NAME = `subscription ${ID}, ACME`;
const COMMAND = 'npm run -s posthaste --';
const TTL_COUNTS = 'What waits uses none of its attempts. The ttl of messages goes on counting.\n';

const paused = (pause: object, more: object = {}) => ({ ...subscription, paused: pause, ...more });
const stopped = (more: object) => json({ requests_end_within_seconds: 31, ...more });
const bodyOf = ({ requests }: { requests: readonly { body: string }[] }): unknown =>
  JSON.parse(requests.at(-1)?.body ?? '');

describe('posthaste subscription pause', () => {
  it('says until when, how long requests can go out, that the ttl counts, and how to resume', async () => {
    const run = await runOn(
      { [`POST ${ONE}/pause`]: stopped(paused(OWN)) },
      `subscription pause orders ${ID} --for 1h`,
    );
    expect(run.stdout).toBe(
      `Paused ${NAME}, until ${clockTime(UNTIL)}.\n` +
        'A request can still go out in the next 31 seconds.\n' +
        TTL_COUNTS +
        `To resume it: ${COMMAND} subscription resume orders 5b0c0f1e\n`,
    );
    expect(bodyOf(run)).toEqual({ for_seconds: 3600 });
  });

  it.each([
    ['', {}],
    [' --for 90', { for_seconds: 90 }],
    [' --until 2036-01-01T09:00:00Z', { until: UNTIL }],
  ])('sends the end that is given by "%s"', async (options, body) => {
    const routes = { [`POST ${ONE}/pause`]: stopped(paused(OWN)) };
    expect(bodyOf(await runOn(routes, `subscription pause orders ${ID}${options}`))).toEqual(body);
  });

  it('takes an end without a day as one of today', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 0, 1, 10) });
    onTestFinished(() => void vi.useRealTimers());
    const routes = { [`POST ${ONE}/pause`]: stopped(paused(OWN)) };
    const run = await runOn(routes, `subscription pause orders ${ID} --until 18:00`);
    expect(bodyOf(run)).toEqual({ until: new Date(2026, 0, 1, 18).toISOString() });
  });

  it.each([
    ['--for 0', 'Expected whole seconds, 1 or more.'],
    ['--until 2026-01-01', 'The time must be in the future.'],
    ['--until 00:00', 'The time must be in the future.'],
    ['--until 1h', 'Expected a time such as'],
    ['--for 1h --until 2036-01-01', 'cannot be used with'],
  ])('refuses %s before it asks the API', async (options, message) => {
    const { status, stderr, requests } = await runOn({}, `subscription pause orders ${ID} ${options}`);
    expect({ status, requests }).toEqual({ status: 2, requests: [] });
    expect(stderr).toContain(message);
  });

  it('says that a pause without an end lasts until it is resumed', async () => {
    const routes = { [`POST ${ONE}/pause`]: stopped(paused({ since: SINCE, by: 'subscription' })) };
    const { stdout } = await runOn(routes, `subscription pause orders ${ID}`);
    expect(stdout).toContain(`Paused ${NAME}, until it is resumed.\n`);
  });

  it('does not take the end of the pause of the queue for its end', async () => {
    const routes = { [`POST ${ONE}/pause`]: stopped(paused({ ...BY_QUEUE, until: UNTIL })) };
    const { stdout } = await runOn(routes, `subscription pause orders ${ID}`);
    expect(stdout).toContain(`Paused ${NAME}.\n`);
    expect(stdout).toContain(`To resume it: ${COMMAND} subscription resume orders 5b0c0f1e\n`);
    expect(stdout).toContain(
      `Its queue is paused, too. To resume the queue: ${COMMAND} queue resume orders\n`,
    );
  });

  it('prints the answer of the API with --json', async () => {
    const answer = { ...paused(OWN), requests_end_within_seconds: 31 };
    const run = await runOn(
      { [`POST ${ONE}/pause`]: json(answer) },
      `subscription pause orders ${ID} --json`,
    );
    expect(run.lines).toEqual([answer]);
  });
});

describe('posthaste subscription resume', () => {
  const resumed = (view: object, options = '') =>
    runOn({ [`POST ${ONE}/resume`]: json(view) }, `subscription resume orders ${ID}${options}`);

  it('sends what waits at the given rate', async () => {
    const run = await resumed(subscription, ' --per-second 20');
    expect(bodyOf(run)).toEqual({ per_second: 20 });
    expect(run.stdout).toBe(
      `Resumed ${NAME}.\nWhat waits is sent in the order of acceptance, 20 a second.\n`,
    );
  });

  it('leaves the rate to the subscription', async () => {
    expect(bodyOf(await resumed(subscription))).toEqual({});
  });

  it.each([
    ['its queue is paused', paused(BY_QUEUE), 'To resume the queue: .* queue resume orders'],
    [
      'it is disabled',
      { ...subscription, disabled: { reason: 'manual', at: AT } },
      'It is disabled. To enable it: .* subscription enable orders 5b0c0f1e',
    ],
  ])('says that %s, so that it still gets nothing', async (_, view, text) => {
    expect((await resumed(view)).stdout).toMatch(new RegExp(`\\n.*${text}\\n$`));
  });
});

describe('posthaste subscription', () => {
  it('says for how long a disabled subscription can get requests', async () => {
    const routes = {
      [`POST ${ONE}/disable`]: stopped({ ...subscription, disabled: { reason: 'manual', at: AT } }),
    };
    const { stdout } = await runOn(routes, `subscription disable orders ${ID}`);
    expect(stdout).toContain(`Disabled ${NAME}.\nA request can still go out in the next 31 seconds.\n`);
  });

  it('says of an enabled one that it stays paused', async () => {
    const routes = { [`GET ${ONE}`]: json(paused(OWN)), [`POST ${ONE}/enable`]: json(paused(OWN)) };
    const { stdout } = await runOn(routes, `subscription enable orders ${ID}`);
    expect(stdout).toContain(
      `It stays paused. To resume it: ${COMMAND} subscription resume orders 5b0c0f1e\n`,
    );
  });

  const shown = (view: object, more: StubRoutes) =>
    runOn({ [`GET ${ONE}`]: json(view), ...more }, `subscription show orders ${ID}`);
  const waiting = (count: number, more = false) => json({ count, more, oldest_accepted_at: AT });

  it.each([
    ['Paused', OWN, clockTime(UNTIL), 'subscription resume orders 5b0c0f1e'],
    ['Queue paused', BY_QUEUE, 'it is resumed', 'queue resume orders'],
  ])('shows since when it is paused, what waits, and how to resume: %s', async (field, pause, end, next) => {
    const { stdout } = await shown(paused(pause), { [`GET ${ONE}/waiting`]: waiting(10_000, true) });
    expect(stdout).toMatch(/\nState +paused\n/);
    expect(stdout).toMatch(new RegExp(`\\n${field} +since ${clockTime(SINCE)} until ${end}\\n`));
    expect(stdout).toMatch(
      new RegExp(`\\nWaiting +10,000\\+ deliveries.*, the oldest accepted at ${clockTime(AT)}\\n`),
    );
    expect(stdout).toContain(`\nTo resume it: ${COMMAND} ${next}\n`);
  });

  it('shows the pause of a disabled one, too, and to a caller who may not count what waits', async () => {
    const view = paused(OWN, { disabled: { reason: 'manual', at: AT } });
    const { status, stdout } = await shown(view, { [`GET ${ONE}/waiting`]: FORBIDDEN });
    expect(status).toBe(0);
    expect(stdout).toMatch(/\nState +disabled \(manual\)\n[^]*\nPaused [^]*To resume it: [^]*To enable it: /);
    expect(stdout).not.toContain('Waiting');
  });
});

describe('posthaste deliveries', () => {
  it('list says why a paused delivery waits, in place of a time that is over', async () => {
    const routes = { [`GET ${QUEUE}/deliveries`]: page({ ...listed, waiting: 'paused' }) };
    const { stdout } = await runOn(routes, 'deliveries list orders');
    expect(stdout).toMatch(/ 503 +waits until after the pause\n/);
  });

  it('show says that the pause delays the planned attempts', async () => {
    const next = { number: 2, phase: 'backoff', dueAt: AT, by: 'queue_pause', waiting: 'paused' };
    const planned = [{ number: 2, phase: 'backoff', dueAt: AT }];
    const view = { ...retrying, nextAttempt: next, policySource: 'queue', planned };
    const { stdout } = await runOn({ [`GET ${DELIVERY}`]: json(view) }, `deliveries show orders m1 ${ID}`);
    expect(stdout).toContain('\nNext attempt  #2 backoff, waits until after the pause\n');
    expect(stdout).toContain('at once (the pause delays them):\n');
  });
});

describe('posthaste queue', () => {
  const view = (pause?: object) => ({ name: 'orders', ...(pause && { paused: pause }) });
  const run = (route: string, answer: object, line: string) => runOn({ [route]: json(answer) }, line);

  it('pause says until when all its subscriptions wait, and how to resume', async () => {
    const answer = { ...view({ ...BY_QUEUE, until: UNTIL }), requests_end_within_seconds: 31 };
    const paused = await run(`POST ${QUEUE}/pause`, answer, 'queue pause orders --for 2d');
    expect(bodyOf(paused)).toEqual({ for_seconds: 172_800 });
    expect(paused.stdout).toBe(
      `Paused queue orders, until ${clockTime(UNTIL)}.\n` +
        'A request can still go out in the next 31 seconds.\n' +
        TTL_COUNTS +
        `To resume it: ${COMMAND} queue resume orders\n`,
    );
  });

  it('resume sends what waits at the given rate', async () => {
    const resumed = await run(`POST ${QUEUE}/resume`, view(), 'queue resume orders --per-second 0.5');
    expect(bodyOf(resumed)).toEqual({ per_second: 0.5 });
    expect(resumed.stdout).toMatch(/^Resumed queue orders\.\n.*0\.5 a second\.\n$/);
  });

  const counted = { count: 3, more: false, oldest_accepted_at: AT, paused: BY_QUEUE };

  it('show says on stderr that it is paused, so that stdout stays JSON', async () => {
    const shown = await run(`GET ${QUEUE}/waiting`, counted, 'queue show orders');
    expect(shown.stdout).toBe('{}\n');
    expect(shown.stderr).toBe(
      `Paused since ${clockTime(SINCE)} until it is resumed. Waiting: 3 deliveries, the oldest accepted at ${clockTime(AT)}.\n` +
        `To resume it: ${COMMAND} queue resume orders\n`,
    );
  });

  it.each([
    ['is not paused', 'queue show orders', { count: 0, more: false }],
    ['is shown as JSON', 'queue show orders --json', counted],
  ])('show says nothing of a pause if it %s', async (_, line, answer) => {
    expect((await run(`GET ${QUEUE}/waiting`, answer, line)).stderr).toBe('');
  });

  it('list shows which queues are paused', async () => {
    const queues = [
      { name: 'a', metadata: {}, paused: BY_QUEUE },
      { name: 'b', metadata: {} },
    ];
    const { stdout } = await run('GET /v2/queues', { queues, links: [] }, 'queue list');
    expect(stdout).toMatch(/\na +paused .*\nb +\{\}\n$/);
  });
});
