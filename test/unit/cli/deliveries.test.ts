import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import {
  messageView,
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
import { ctrlC } from './run-command.ts';
import { FORBIDDEN, json, NOT_FOUND, refusal, runOn, stubApi, type StubRoutes } from './stub-api.ts';

const SHOW = `deliveries show orders m1 ${ID}`;

describe('posthaste deliveries list', () => {
  it('lists the deliveries of a queue with all filters of the API', async () => {
    const filters = `--status retrying --subscription ${ID} --since 2026-01-01T00:00:00Z --limit 3`;
    const routes = { [OF_QUEUE]: page(listed) };
    const { lines, requests } = await runOn(routes, `deliveries list orders ${filters} --json`);
    expect(lines).toEqual([listed]);
    expect(requests[0]?.path.split('?')[1]?.split('&').toSorted()).toEqual([
      'limit=3',
      `since=${encodeURIComponent(AT)}`,
      'status=retrying',
      `subscription=${ID}`,
    ]);
  });

  it('lists all deliveries of a message as a table', async () => {
    const routes = { [OF_MESSAGE]: page(delivered), ...SUBSCRIPTIONS };
    const { stdout } = await runOn(routes, 'deliveries list orders --message m1');
    expect(stdout).toBe(
      'Message  Subscription  Subscriber  Status     Attempts  Last response  Next attempt\n' +
        'm1       5b0c0f1e      ACME        delivered         2  200\n',
    );
  });

  it('lists the name or a short form of the URL of each subscription, and which one is deleted', async () => {
    const others = ['one', 'two'].map((id) => ({ ...listed, subscriptionId: id }));
    const { name: _, ...unnamed } = subscription;
    const subscriber = `https://example.com/${'x'.repeat(60)}`;
    const routes = {
      [OF_QUEUE]: page(listed, ...others),
      ...SUBSCRIPTIONS,
      'GET /v2/queues/orders/subscriptions/one': json({ ...unnamed, id: 'one', subscriber }),
    };
    const { stdout } = await runOn(routes, 'deliveries list orders');
    const rows = stdout.split('\n').slice(1, -1);
    expect(rows.map((row) => row.split(/ {2,}/)[2])).toEqual([
      'ACME',
      `https://example.com/${'x'.repeat(20)}…`,
      '(deleted)',
    ]);
  });

  it('lists deliveries for a caller who may not read subscriptions', async () => {
    const routes = { [OF_QUEUE]: page(listed), [`GET /v2/queues/orders/subscriptions/${ID}`]: FORBIDDEN };
    expect(await runOn(routes, 'deliveries list orders')).toMatchObject({ status: 0, stderr: '' });
  });

  it('lists all deliveries of a subscription, following short pages with the end of the window that the API chose', async () => {
    const path = `/v2/queues/orders/subscriptions/${ID}/deliveries`;
    const all = { ...listed, status: 'delivered', messageType: 'order.created', deliveredAfterMs: 40 };
    const links = [{ rel: 'next', href: `${path}?marker=a&until=chosen&limit=9` }];
    const routes: StubRoutes = {
      [`GET ${path}`]: (_, index) => (index === 0 ? json({ deliveries: [], links }) : page(all)),
    };
    const options = `--subscription ${ID} --all --since 2026-01-01T00:00:00Z --limit 3`;
    const { lines, requests } = await runOn(routes, `deliveries list orders ${options} --json`);
    expect(lines).toEqual([all]);
    const first = `${path}?since=${encodeURIComponent(AT)}&limit=3`;
    expect(requests.map((request) => request.path)).toEqual([
      first,
      `${path}?since=${encodeURIComponent(AT)}&until=chosen&limit=3&marker=a`,
    ]);
  });

  it('does not call the subscriptions of a queue deleted that was restored since', async () => {
    const routes = { [OF_QUEUE]: page(listed), ...SUBSCRIPTIONS };
    const { stdout } = await runOn(routes, 'deliveries list orders --deleted');
    expect(stdout).toMatch(/\nm1 +5b0c0f1e +ACME +retrying /);
  });

  it('says of a deleted queue that its subscriptions are, and of delivered ones how to list them', async () => {
    const { stdout } = await runOn({ [OF_QUEUE]: page(listed) }, 'deliveries list orders --deleted');
    expect(stdout).toMatch(/\nm1 +5b0c0f1e +\(deleted\) +retrying /);
    const { status, stderr } = await runOn({}, 'deliveries list orders --status delivered');
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /Allowed choices are pending, .*\. Delivered ones: --message ID, or --subscription ID --all\./,
    );
  });

  it('says of a message without a delivery how to see why', async () => {
    const why = 'posthaste -- explain orders m1\n';
    const { stdout } = await runOn({ [OF_MESSAGE]: page() }, 'deliveries list orders --message m1');
    expect(stdout).toMatch(new RegExp(`^The message has no delivery\\. To see why, run .*${why}$`));
    const { status, stderr } = await runOn({ [`GET ${ONE}`]: NOT_FOUND }, SHOW);
    expect(status).toBe(1);
    expect(stderr).toMatch(new RegExp(`posthaste: There is no such delivery\\. To see why, run .*${why}$`));
  });

  it.each([
    ['', 'No open or failed deliveries. Delivered ones: --message ID, or --subscription ID --all\n'],
    [' --status exhausted', 'No matching deliveries.\n'],
  ])('says of a queue without open and failed deliveries where the others are:%s', async (option, text) => {
    expect((await runOn({ [OF_QUEUE]: page() }, `deliveries list orders${option}`)).stdout).toBe(text);
  });
});

describe('posthaste deliveries show', () => {
  it('finds a delivery of a deleted subscription by the short id that lists show', async () => {
    const routes = {
      'GET /v2/queues/orders/subscriptions': json({ subscriptions: [], links: [] }),
      [OF_MESSAGE]: page({ ...delivered, subscriptionId: 'other' }, delivered),
      [`GET ${ONE}`]: detail(delivered),
    };
    const { status, stdout } = await runOn(routes, 'deliveries show orders m1 5b0c0f1e');
    expect(status).toBe(0);
    expect(stdout).toMatch(/Subscriber +\(deleted\)\n/);
    expect((await runOn(routes, 'deliveries show orders m1 ACME')).stderr).toContain(
      'There is no subscription ACME on queue orders.',
    );
  });

  it('shows attempts and planned retries', async () => {
    const planned = [{ number: 2, phase: 'pre_backoff', dueAt: AT }];
    const view = { ...retrying, policySource: 'queue', planned };
    const { stdout } = await runOn({ [`GET ${ONE}`]: json(view) }, SHOW);
    expect(stdout).toMatch(/Status +retrying\nNext attempt +#2 pre_backoff/);
    expect(stdout).toMatch(/1 {2}initial .* 5 ms {2}failed +503\n/);
    expect(stdout).toContain('Planned attempts, if each one fails at once:');
    expect((await runOn({ [`GET ${ONE}`]: json(view) }, `${SHOW} --json`)).lines).toEqual([view]);
  });

  it('shows when it was accepted, and what each attempt waited for', async () => {
    const waited = [
      { reason: 'lag', ms: 300 },
      { reason: 'rate_limited', ms: 478_000 },
      { reason: 'circuit_open', ms: 61_000 },
      { reason: 'lag', ms: 1_900 },
    ];
    const attempts = [
      { ...attempt, waited },
      { ...attempt, number: 2 },
    ];
    const view = { ...retrying, acceptedAt: AT, attempts, policySource: 'queue', planned: [] };
    const { stdout } = await runOn({ [`GET ${ONE}`]: json(view) }, SHOW);
    expect(stdout).toContain(`Accepted      ${clockTime(AT)}\n`);
    expect(stdout).toMatch(/Attempt {2}Phase {4}Waited +Started/);
    expect(stdout).toMatch(
      / 1 {2}initial {2}2 s \(lag\), 7 min 58 s \(rate limit\), 1 min 1 s \(held\) {2}20.* 5 ms/,
    );
    expect(stdout).toMatch(/ 2 {2}initial +20.* 5 ms/);
  });

  it('shows the attempt in flight in place of the one that is due, until its lease ends', async () => {
    const planned = [1, 2].map((number) => ({ number: number + 1, phase: 'backoff', dueAt: AT }));
    const shown = async (until: string) => {
      const view = { ...retrying, inFlight: { since: AT, until }, policySource: 'queue', planned };
      return (await runOn({ [`GET ${ONE}`]: json(view) }, SHOW)).stdout;
    };
    const until = new Date(Date.now() + 20_000).toISOString();
    const stdout = await shown(until);
    expect(stdout).toMatch(
      new RegExp(`In flight +attempt 2 since ${clockTime(AT)}, until ${clockTime(until)} at the latest\n`),
    );
    expect(stdout).not.toContain('Next attempt');
    expect(stdout).toMatch(/Due\n +3 {2}backoff .*\n$/);
    const afterwards = await shown(AT);
    expect(afterwards).toContain('Next attempt');
    expect(afterwards).not.toContain('In flight');
  });

  it('shows how long it has waited so far, with the waits that ended', async () => {
    const nextAttempt = {
      ...{ number: 1, phase: 'initial', dueAt: AT, by: 'sqs_delay', waiting: 'circuit_open' },
      waitingSince: new Date(Date.now() - 190_000).toISOString(),
      waited: [{ reason: 'rate_limited', ms: 60_000 }],
    };
    const view = { ...retrying, status: 'pending', attempts: [], nextAttempt };
    const { stdout } = await runOn({ [`GET ${ONE}`]: detail(view) }, SHOW);
    expect(stdout).toMatch(/Waited so far {2}1 min \(rate limit\), 3 min 1\d s \(held\)\n/);
    expect(stdout).not.toContain('Accepted');
  });

  it.each([
    ['rate_limited', 'waits for the rate limit of the subscription', false],
    ['receiver_throttled', 'waits because the subscriber throttles', true],
    ['circuit_open', 'waits because the subscriber is or was down', true],
  ])('shows why a delivery waits, at least until when: %s', async (waiting, why, isSlowed) => {
    const nextAttempt = { number: 1, phase: 'initial', dueAt: AT, by: 'sqs_delay', waiting };
    const view = { ...retrying, status: 'pending', nextAttempt };
    const planned = [{ number: 2, phase: 'initial', dueAt: AT }];
    const api = await stubApi({
      [`GET ${ONE}`]: json({ ...view, policySource: 'queue', planned }),
      [OF_QUEUE]: page({ ...listed, nextAttemptAt: AT, waiting }),
      [OF_MESSAGE]: page(view),
      ...SUBSCRIPTIONS,
    });
    const until = `not before ${clockTime(AT)}, ${why}\n`;
    const { stdout } = await api.run(SHOW);
    expect(stdout).toMatch(new RegExp(`Next attempt +#1 initial, ${until}`));
    expect(stdout.includes('at once (back-pressure can delay them):\n')).toBe(isSlowed);
    for (const line of ['deliveries list orders', 'deliveries list orders --message m1'])
      expect((await api.run(line)).stdout).toContain(` ${until}`);
  });

  it.each([
    ['a terminal', { isTTY: true, getColorDepth: () => 4 }, {}, true],
    ['a terminal without colours', { isTTY: true, getColorDepth: () => 1 }, {}, false],
    ['a pipe', {}, {}, false],
    ['a pipe with FORCE_COLOR', {}, { FORCE_COLOR: '1' }, true],
  ])('has a coloured status on %s', async (_, terminal, env, isColoured) => {
    const { stdout } = await runOn({ [`GET ${ONE}`]: detail(delivered), ...SUBSCRIPTIONS }, SHOW, {
      env,
      onStart: (command) => {
        Object.assign(command.stdout, terminal);
        command.stdin.end();
      },
    });
    expect(stdout.includes('\u001b[32mdelivered\u001b[39m')).toBe(isColoured);
  });
});

describe('posthaste deliveries watch', () => {
  it('prints each change once, including the delivery leaving the list as delivered, and exits with 0 on Ctrl-C', async () => {
    const { press, options } = ctrlC();
    const routes: StubRoutes = {
      [OF_QUEUE]: (_, look) => {
        if (look === 3) press();
        return look < 2 ? page(listed) : page();
      },
      [`GET ${ONE}`]: detail(delivered),
    };
    const { status, lines, stderr } = await runOn(routes, 'deliveries watch orders --json', options);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(lines).toMatchObject([
      { messageId: 'm1', status: 'retrying', attemptCount: 1, last: '503', nextAttemptAt: AT },
      { messageId: 'm1', status: 'delivered', attemptCount: 2, last: '200' },
    ]);
  });

  it('follows a message that has no record yet, until the deliveries of all matches have ended', async () => {
    const answers = [NOT_FOUND, page(), page(delivered), page(delivered)];
    let looks = 0;
    const routes: StubRoutes = {
      [OF_MESSAGE]: () => answers[looks++] ?? page(),
      'GET /v2/queues/orders/messages/m1': () => json({ ...messageView, matched: looks < 4 ? 2 : 1 }),
    };
    const { status, stdout } = await runOn(routes, 'deliveries watch orders --message m1');
    expect({ status, looks }).toEqual({ status: 0, looks: 4 });
    expect(stdout).toMatch(/^\S+ \S+ {2}m1 {2}5b0c0f1e {2}delivered {2}#2, 200\n$/);
  });

  it.each([
    ['', 'Watched the open and failed deliveries of queue orders: nothing happened.\n'],
    [' --message m1', 'Watched the deliveries of message m1 on queue orders: nothing happened.\n'],
    [' --json', ''],
  ])('exits with status 0 after --for, and says that nothing happened: "%s"', async (more, stderr) => {
    const routes = { [OF_QUEUE]: page(), [OF_MESSAGE]: page() };
    const run = await runOn(routes, `deliveries watch orders --for 0.5${more}`);
    expect(run).toMatchObject({ status: 0, stdout: '', stderr });
  });
});

describe('posthaste retry and cancel', () => {
  const RETRY = `retry orders m1 ${ID}`;
  const retriedOn = (answer: StubRoutes[string], options?: Parameters<typeof runOn>[2]) =>
    runOn({ [`POST ${ONE}/retry`]: answer }, RETRY, options);

  it.each(['retry', 'cancel'])('can %s a delivery', async (what) => {
    const routes = { [`POST ${ONE}/${what}`]: json(retrying, 202) };
    const { status, lines } = await runOn(routes, `${what} orders m1 ${ID} --json`);
    expect({ status, lines }).toEqual({ status: 0, lines: [retrying] });
  });

  it('says of one that was delivered that it is sent once more, and to which subscriber', async () => {
    const again = { ...delivered, status: 'retrying' };
    const routes = { [`POST ${ONE}/retry`]: json(again, 202), ...SUBSCRIPTIONS };
    const { stdout } = await runOn(routes, RETRY);
    expect(stdout).toMatch(
      new RegExp(`^It was delivered at ${clockTime(AT)} already, and is sent once more\\.\nMessage`),
    );
    expect(stdout).toContain('Subscriber    ACME\n');
    const first = await runOn({ ...routes, [`POST ${ONE}/retry`]: json(retrying, 202) }, RETRY);
    expect(first.stdout).not.toContain('already');
  });

  describe('retried with --wait', () => {
    /** The delivery as each look shows it; the last one stays. */
    const waiting = (...looks: object[]): StubRoutes => ({
      [`POST ${ONE}/retry`]: json(retrying, 202),
      [`GET ${ONE}`]: (_, index) => detail(looks[index] ?? looks.at(-1) ?? {}),
    });

    it.each([
      [delivered, 0],
      [{ ...delivered, status: 'rejected', reason: 'http_400' }, 1],
    ])(
      'is shown at its end, with an exit status that says whether it was delivered: %#',
      async (end, code) => {
        const { status, lines } = await runOn(waiting(retrying, end), `${RETRY} --wait --json`);
        expect({ status, lines }).toMatchObject({ status: code, lines: [{ status: end.status }] });
      },
    );

    it('is polled with pauses that grow while nothing changes and fall after a change, as --verbose shows', async () => {
      const second = { ...retrying, attempts: [attempt, { ...attempt, number: 2 }] };
      const looks = waiting(retrying, retrying, second, delivered);
      const { stderr } = await runOn(looks, `${RETRY} --wait --verbose`);
      expect(stderr.split('\n').slice(1, -1)).toEqual([
        'empty: slept 0.5 s, next 1 s',
        'empty: slept 1 s, next 2 s',
        'changed: interval 0.5 s',
      ]);
    });

    it('continues after Ctrl-C, which says where to look', async () => {
      const { pressing, options } = ctrlC();
      const routes = { ...waiting(), [`GET ${ONE}`]: pressing(detail(retrying)) };
      const { status, stderr } = await runOn(routes, `${RETRY} --wait`, options);
      expect(status).toBe(130);
      expect(stderr).toContain(
        `The delivery continues. To see it: npm run -s posthaste -- deliveries show orders m1 ${ID}\n`,
      );
    });
  });

  const gone = refusal(409, 'conflict', 'the body is gone');
  const throttled = json({ message: 'Too Many Requests' }, 429);

  it('shows why a retry was refused', async () => {
    const { url, ...run } = await retriedOn(gone);
    expect(run).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `→ ${url}\nposthaste: POST ${ONE}/retry was refused (409 conflict): the body is gone\n`,
    });
  });

  it.each<[string, StubRoutes[string], string, number]>([
    ['sent once if it was refused', gone, 'the body is gone', 1],
    ['sent once if it may have been processed', json({ message: 'busy' }, 503), '503', 1],
    ['repeated if API Gateway throttled it', (_, n) => (n < 2 ? throttled : gone), 'the body is gone', 3],
    ['repeated three times at the most', throttled, '429', 4],
  ])('is %s', async (_, answer, said, times) => {
    const { status, stderr, requests } = await retriedOn(answer);
    expect({ status, times: requests.length }).toEqual({ status: 1, times });
    expect(stderr).toContain(said);
  });
});
