import { afterAll, describe, expect, it } from 'vitest';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi, type StubRoutes } from './stub-api.ts';

afterAll(closeStubs);

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const AT = '2026-01-01T00:00:00.000Z';
const attempt = {
  number: 1,
  round: 1,
  phase: 'initial',
  startedAt: AT,
  durationMs: 5,
  outcome: 'failed',
  statusCode: 503,
};
const policy = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 1,
  minimum_delay: 5,
  maximum_delay: 30,
  maximum_delay_retries: 0,
  retry_backoff_function: 'linear',
  ignore_subscription_override: false,
  backoff_retries: 0,
  backoff_exponent: 2,
  jitter: 'none',
  retry_on_status: [],
};
const retrying = {
  queue: 'orders',
  messageId: 'm1',
  subscriptionId: ID,
  status: 'retrying',
  attempts: [attempt],
  nextAttemptAt: AT,
  nextAttempt: { number: 2, phase: 'pre_backoff', dueAt: AT, by: 'sqs_delay' },
  policy,
};
const delivered = {
  queue: 'orders',
  messageId: 'm1',
  subscriptionId: ID,
  status: 'delivered',
  attempts: [attempt, { ...attempt, number: 2, outcome: 'delivered', statusCode: 200 }],
  policy,
};
const detail = (view: object) => json({ ...view, policy, policySource: 'delivery', planned: [] });
const listed = {
  queue: 'orders',
  messageId: 'm1',
  subscriptionId: ID,
  status: 'retrying',
  acceptedAt: AT,
  attemptCount: 1,
  lastAttempt: { number: 1, startedAt: AT, outcome: 'failed', statusCode: 503 },
  nextAttemptAt: AT,
};
const page = (...deliveries: unknown[]) => json({ deliveries, links: [] });

const subscription = {
  id: ID,
  source: 'orders',
  name: 'ACME',
  subscriber: 'https://example.com/hook',
  ttl: null,
  age: 1,
  options: {},
  confirmed: true,
};
const SUBSCRIPTIONS: StubRoutes = {
  'GET /v2/queues/orders/subscriptions': () => json({ subscriptions: [subscription], links: [] }),
  [`GET /v2/queues/orders/subscriptions/${ID}`]: () => json(subscription),
};

const OF_QUEUE = 'GET /v2/queues/orders/deliveries';
const OF_MESSAGE = 'GET /v2/queues/orders/messages/m1/deliveries';
const ONE = `/v2/queues/orders/messages/m1/deliveries/${ID}`;

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
    const OF_SUBSCRIPTION = '/v2/queues/orders/subscriptions/s1/deliveries';
    const all = { ...listed, status: 'delivered', messageType: 'order.created', deliveredAfterMs: 40 };
    const api = await stubApi({
      [`GET ${OF_SUBSCRIPTION}`]: (_, index) =>
        index === 0
          ? json({ deliveries: [], links: [{ rel: 'next', href: `${OF_SUBSCRIPTION}?marker=a` }] })
          : page(all),
    });
    const args = ['--subscription', 's1', '--all', '--since', '2026-01-01T00:00:00Z', '--limit', '3'];
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
    expect(stdout).toContain('Planned attempts, if each one fails immediately:');
    expect(jsonLines((await api.run(['deliveries', 'show', 'orders', 'm1', ID, '--json'])).stdout)).toEqual([
      view,
    ]);
  });

  it('shows that a delivery is delayed by max_per_second', async () => {
    const nextAttempt = { number: 1, phase: 'initial', dueAt: AT, by: 'sqs_delay', waitsFor: 'rate_limit' };
    const view = { ...retrying, status: 'pending', nextAttempt };
    const api = await stubApi({
      [`GET ${ONE}`]: () => json({ ...view, policySource: 'queue', planned: [] }),
    });
    const { stdout } = await api.run(['deliveries', 'show', 'orders', 'm1', ID]);
    expect(stdout).toMatch(/Next attempt +#1 initial, .*, delayed by max_per_second\n/);
  });

  it.each(['retry', 'cancel'])('can %s a delivery', async (what) => {
    const api = await stubApi({ [`POST ${ONE}/${what}`]: () => json(retrying, 202) });
    const { status, stdout } = await api.run([what, 'orders', 'm1', ID, '--json']);
    expect({ status, lines: jsonLines(stdout) }).toEqual({ status: 0, lines: [retrying] });
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

describe('posthaste deliveries watch', () => {
  it('prints each change once, including the delivery leaving the list as delivered, and exits with 0 on Ctrl-C', async () => {
    let interrupt = (): void => undefined;
    let looks = 0;
    const api = await stubApi({
      [OF_QUEUE]: () => {
        looks += 1;
        if (looks === 4) interrupt();
        return looks < 3 ? page(listed) : page();
      },
      [`GET ${ONE}`]: () => detail(delivered),
    });
    const { status, stdout, stderr } = await api.run(['deliveries', 'watch', 'orders', '--json'], {
      onStart: (command) => {
        ({ interrupt } = command);
      },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(jsonLines(stdout)).toMatchObject([
      { messageId: 'm1', status: 'retrying', attemptCount: 1, last: '503', nextAttemptAt: AT },
      { messageId: 'm1', status: 'delivered', attemptCount: 2, last: '200' },
    ]);
  });

  it('follows a message that has no record yet, until the deliveries of all matches have ended', async () => {
    let looks = 0;
    const answers = [refusal(404, 'not_found', 'no such message'), page(), page(delivered), page(delivered)];
    const message = {
      queue: 'orders',
      id: 'm1',
      acceptedAt: AT,
      duplicates: 0,
      filtered: 0,
      bodyKept: false,
    };
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
