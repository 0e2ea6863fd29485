import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import {
  ID,
  AT,
  retrying,
  delivered,
  detail,
  listed,
  page,
  subscription,
  SUBSCRIPTIONS,
  OF_QUEUE,
  OF_MESSAGE,
  ONE,
} from './delivery-views.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

describe('posthaste deliveries', () => {
  it('lists the deliveries of a queue with all filters of the API', async () => {
    const api = await stubApi({ [OF_QUEUE]: () => page(listed) });
    const args = `--status retrying --subscription ${ID} --since 2026-01-01T00:00:00Z --limit 3`.split(' ');
    const { stdout } = await api.run(['deliveries', 'list', 'orders', ...args, '--json']);
    expect(jsonLines(stdout)).toEqual([listed]);
    expect(Object.fromEntries(new URL(api.requests[0]?.path ?? '', api.url).searchParams)).toEqual({
      status: 'retrying',
      subscription: ID,
      since: AT,
      limit: '3',
    });
  });

  it('lists all deliveries of a message as a table', async () => {
    const api = await stubApi({ [OF_MESSAGE]: () => page(delivered), ...SUBSCRIPTIONS });
    const { stdout } = await api.run(['deliveries', 'list', 'orders', '--message', 'm1']);
    expect(stdout).toBe(
      'Message  Subscription  Subscriber  Status     Attempts  Last response  Next attempt\n' +
        'm1       5b0c0f1e      ACME        delivered         2  200\n',
    );
  });

  it('lists the name or a short form of the URL of each subscription, and which one is deleted', async () => {
    const others = ['one', 'two'].map((id) => ({ ...listed, subscriptionId: id }));
    const { name: _, ...unnamed } = subscription;
    const subscriber = `https://example.com/${'x'.repeat(60)}`;
    const api = await stubApi({
      [OF_QUEUE]: () => page(listed, ...others),
      ...SUBSCRIPTIONS,
      'GET /v2/queues/orders/subscriptions/one': () => json({ ...unnamed, id: 'one', subscriber }),
    });
    const { stdout } = await api.run(['deliveries', 'list', 'orders']);
    const rows = stdout.split('\n').slice(1, -1);
    expect(rows.map((row) => row.split(/ {2,}/)[2])).toEqual([
      'ACME',
      `https://example.com/${'x'.repeat(20)}…`,
      '(deleted)',
    ]);
  });

  it('lists deliveries for a caller who may not read subscriptions', async () => {
    const forbidden = () => json({ message: 'Forbidden' }, 403);
    const api = await stubApi({
      [OF_QUEUE]: () => page(listed),
      [`GET /v2/queues/orders/subscriptions/${ID}`]: forbidden,
    });
    expect(await api.run(['deliveries', 'list', 'orders'])).toMatchObject({ status: 0, stderr: '' });
  });

  it('finds a delivery of a deleted subscription by the short id that lists show', async () => {
    const api = await stubApi({
      'GET /v2/queues/orders/subscriptions': () => json({ subscriptions: [], links: [] }),
      [OF_MESSAGE]: () => page({ ...delivered, subscriptionId: 'other' }, delivered),
      [`GET ${ONE}`]: () => detail(delivered),
    });
    const { status, stdout } = await api.run(['deliveries', 'show', 'orders', 'm1', '5b0c0f1e']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Subscriber +\(deleted\)\n/);
    expect((await api.run(['deliveries', 'show', 'orders', 'm1', 'ACME'])).stderr).toContain(
      'There is no subscription ACME on queue orders.',
    );
  });

  it('lists all deliveries of a subscription, following short pages', async () => {
    const OF_SUBSCRIPTION = `/v2/queues/orders/subscriptions/${ID}/deliveries`;
    const all = { ...listed, status: 'delivered', messageType: 'order.created', deliveredAfterMs: 40 };
    const api = await stubApi({
      [`GET ${OF_SUBSCRIPTION}`]: (_, index) =>
        index === 0
          ? json({ deliveries: [], links: [{ rel: 'next', href: `${OF_SUBSCRIPTION}?marker=a` }] })
          : page(all),
    });
    const args = ['--subscription', ID, '--all', '--since', '2026-01-01T00:00:00Z', '--limit', '3'];
    const { stdout } = await api.run(['deliveries', 'list', 'orders', ...args, '--json']);
    expect(jsonLines(stdout)).toEqual([all]);
    const searches = api.requests.map(({ path }) => new URL(path, api.url).search);
    const first = `?since=${encodeURIComponent(AT)}&limit=3`;
    expect(searches).toEqual([first, `${first}&marker=a`]);
  });

  it('shows attempts and planned retries', async () => {
    const planned = [{ number: 2, phase: 'pre_backoff', dueAt: AT }];
    const view = { ...retrying, policySource: 'queue', planned };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(view) });
    const { stdout } = await api.run(['deliveries', 'show', 'orders', 'm1', ID]);
    expect(stdout).toMatch(/Status +retrying\nNext attempt +#2 pre_backoff/);
    expect(stdout).toMatch(/1 {2}initial .* 5 ms {2}failed +503\n/);
    expect(stdout).toContain('Planned attempts, if each one fails at once:');
    expect(jsonLines((await api.run(['deliveries', 'show', 'orders', 'm1', ID, '--json'])).stdout)).toEqual([
      view,
    ]);
  });

  it.each([
    ['rate_limited', 'waits for the rate limit of the subscription', false],
    ['receiver_throttled', 'waits because the subscriber throttles', true],
    ['circuit_open', 'waits because the subscriber is or was down', true],
  ])('shows why a delivery waits, at least until when: %s', async (waiting, why, isSlowed) => {
    const nextAttempt = { number: 1, phase: 'initial', dueAt: AT, by: 'sqs_delay', waiting };
    const view = { ...retrying, status: 'pending', nextAttempt };
    const api = await stubApi({
      [`GET ${ONE}`]: () =>
        json({ ...view, policySource: 'queue', planned: [{ number: 2, phase: 'initial', dueAt: AT }] }),
    });
    const { stdout } = await api.run(['deliveries', 'show', 'orders', 'm1', ID]);
    expect(stdout).toMatch(new RegExp(`Next attempt +#1 initial, not before ${clockTime(AT)}, ${why}\\n`));
    expect(stdout.includes('at once (back-pressure can delay them):\n')).toBe(isSlowed);
    const listing = await stubApi({
      [OF_QUEUE]: () => page({ ...listed, nextAttemptAt: AT, waiting }),
      [OF_MESSAGE]: () => page(view),
      ...SUBSCRIPTIONS,
    });
    for (const args of [[], ['--message', 'm1']])
      expect((await listing.run(['deliveries', 'list', 'orders', ...args])).stdout).toMatch(
        new RegExp(` not before ${clockTime(AT)}, ${why}\\n`),
      );
  });

  it.each([
    [[], 'No open or failed deliveries. Delivered ones: --message ID, or --subscription ID --all\n'],
    [['--status', 'exhausted'], 'No matching deliveries.\n'],
  ])('says of a queue without open and failed deliveries where the others are: %j', async (args, text) => {
    const api = await stubApi({ [OF_QUEUE]: () => page() });
    expect((await api.run(['deliveries', 'list', 'orders', ...args])).stdout).toBe(text);
  });

  it('says that there are more deliveries than it shows', async () => {
    const more = json({ deliveries: [listed], links: [{ rel: 'next', href: '?marker=2' }] });
    const api = await stubApi({ [OF_QUEUE]: () => more, ...SUBSCRIPTIONS });
    const { stderr } = await api.run(['deliveries', 'list', 'orders', '--limit', '1']);
    expect(stderr).toBe('1 of more than 1 shown: raise --limit for more.\n');
  });

  it.each([
    ['a terminal', { isTTY: true, getColorDepth: () => 4 }, {}, true],
    ['a terminal without colours', { isTTY: true, getColorDepth: () => 1 }, {}, false],
    ['a pipe', {}, {}, false],
    ['a pipe with FORCE_COLOR', {}, { FORCE_COLOR: '1' }, true],
  ])('has a coloured status on %s', async (_, stdout, env, isColoured) => {
    const api = await stubApi({ [`GET ${ONE}`]: () => detail(delivered), ...SUBSCRIPTIONS });
    const run = await api.run(['deliveries', 'show', 'orders', 'm1', ID], {
      env,
      onStart: (command) => {
        Object.assign(command.stdout, stdout);
        command.stdin.end();
      },
    });
    expect(run.stdout.includes('\u001b[32mdelivered\u001b[39m')).toBe(isColoured);
  });
});
