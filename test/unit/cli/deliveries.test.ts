import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/words.ts';
import {
  message,
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
  attempt,
} from './delivery-views.ts';
import { jsonLines, ctrlC } from './run-command.ts';
import { json, stubApi, refusal } from './stub-api.ts';

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

describe('posthaste deliveries watch', () => {
  it('prints each change once, including the delivery leaving the list as delivered, and exits with 0 on Ctrl-C', async () => {
    const { press, options } = ctrlC();
    let looks = 0;
    const api = await stubApi({
      [OF_QUEUE]: () => {
        looks += 1;
        if (looks === 4) press();
        return looks < 3 ? page(listed) : page();
      },
      [`GET ${ONE}`]: () => detail(delivered),
    });
    const { status, stdout, stderr } = await api.run(['deliveries', 'watch', 'orders', '--json'], options);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(jsonLines(stdout)).toMatchObject([
      { messageId: 'm1', status: 'retrying', attemptCount: 1, last: '503', nextAttemptAt: AT },
      { messageId: 'm1', status: 'delivered', attemptCount: 2, last: '200' },
    ]);
  });

  it('follows a message that has no record yet, until the deliveries of all matches have ended', async () => {
    let looks = 0;
    const answers = [refusal(404, 'not_found', 'no such message'), page(), page(delivered), page(delivered)];
    const deliveries = { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 0, cancelled: 0 };
    const api = await stubApi({
      [OF_MESSAGE]: () => answers[looks++] ?? page(),
      'GET /v2/queues/orders/messages/m1': () => json({ ...message, deliveries, matched: looks < 4 ? 2 : 1 }),
    });
    const { status, stdout } = await api.run(['deliveries', 'watch', 'orders', '--message', 'm1']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\S+ \S+ {2}m1 {2}5b0c0f1e {2}delivered {2}#2, 200\n$/);
    expect(looks).toBe(4);
  });

  it('exits with status 0 after --for', async () => {
    const api = await stubApi({ [OF_QUEUE]: () => page() });
    expect(await api.run(['deliveries', 'watch', 'orders', '--for', '0.5'])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });
});

describe('posthaste retry and cancel', () => {
  it.each(['retry', 'cancel'])('can %s a delivery', async (what) => {
    const api = await stubApi({ [`POST ${ONE}/${what}`]: () => json(retrying, 202) });
    const { status, stdout } = await api.run([what, 'orders', 'm1', ID, '--json']);
    expect({ status, lines: jsonLines(stdout) }).toEqual({ status: 0, lines: [retrying] });
  });

  describe('retried with --wait', () => {
    const waiting = (...ends: object[]) =>
      stubApi({
        [`POST ${ONE}/retry`]: () => json(retrying, 202),
        [`GET ${ONE}`]: (_, index) => detail(ends[index] ?? ends.at(-1) ?? {}),
      });
    const args = ['retry', 'orders', 'm1', ID, '--wait'];

    it.each([
      [delivered, 0],
      [{ ...delivered, status: 'rejected', reason: 'http_400' }, 1],
    ])(
      'is shown at its end, with an exit status that says whether it was delivered: %#',
      async (end, status) => {
        const { run } = await waiting(retrying, end);
        const ended = await run([...args, '--json']);
        expect(ended.status).toBe(status);
        expect(JSON.parse(ended.stdout)).toMatchObject({ status: end.status });
      },
    );

    it('is polled with pauses that grow while nothing changes and fall after a change, as --verbose shows', async () => {
      const second = { ...retrying, attempts: [attempt, { ...attempt, number: 2 }] };
      const { run } = await waiting(retrying, retrying, second, delivered);
      const { stderr } = await run([...args, '--verbose']);
      expect(stderr.split('\n').slice(1, -1)).toEqual([
        'empty: slept 0.5 s, next 1 s',
        'empty: slept 1 s, next 2 s',
        'changed: interval 0.5 s',
      ]);
    });

    it('continues after Ctrl-C, which says where to look', async () => {
      const { press, options } = ctrlC();
      const api = await stubApi({
        [`POST ${ONE}/retry`]: () => json(retrying, 202),
        [`GET ${ONE}`]: () => {
          press();
          return detail(retrying);
        },
      });
      const run = await api.run(args, options);
      expect(run.status).toBe(130);
      expect(run.stderr).toContain(
        `The delivery continues. To see it: npm run -s posthaste -- deliveries show orders m1 ${ID}\n`,
      );
    });
  });

  it('shows why a retry was refused, and sends the request only once', async () => {
    const api = await stubApi({ [`POST ${ONE}/retry`]: () => refusal(409, 'conflict', 'the body is gone') });
    expect(await api.run(['retry', 'orders', 'm1', ID])).toEqual({
      status: 1,
      stdout: '',
      stderr: `→ ${api.url}\nposthaste: POST ${ONE}/retry was refused (409 conflict): the body is gone\n`,
    });
    const failing = await stubApi({ [`POST ${ONE}/retry`]: () => json({ message: 'busy' }, 503) });
    expect((await failing.run(['retry', 'orders', 'm1', ID])).status).toBe(1);
    expect(failing.requests).toHaveLength(1);
  });

  it('repeats a retry that API Gateway throttled, because the API has not processed it', async () => {
    const api = await stubApi({
      [`POST ${ONE}/retry`]: (_, index) =>
        index < 2
          ? json({ message: 'Too Many Requests' }, 429)
          : refusal(409, 'conflict', 'the body is gone'),
    });
    expect((await api.run(['retry', 'orders', 'm1', ID])).stderr).toContain('the body is gone');
    expect(api.requests).toHaveLength(3);
    const busy = await stubApi({ [`POST ${ONE}/retry`]: () => json({ message: 'Too Many Requests' }, 429) });
    expect((await busy.run(['retry', 'orders', 'm1', ID])).stderr).toContain('429');
    expect(busy.requests).toHaveLength(4);
  });
});
