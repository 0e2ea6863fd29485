import { describe, expect, it } from 'vitest';
import { posthaste, type RunOptions, ctrlC, jsonLines } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import { stubbedDeployment, type StubbedDeployment } from './stubbed-deployment.ts';
import { subscription, deployed as withNotices, notice, type Standing } from './undeliverable-deployment.ts';

const AN_HOUR = 3_600_000;

type Options = Parameters<typeof stubbedDeployment>[0];

const deployed = (options: Partial<Options> = {}): Promise<StubbedDeployment> =>
  stubbedDeployment({ bodies: [], sentAt: Date.now() - AN_HOUR, ...options });

const redrive = (args: string[], env?: NodeJS.ProcessEnv, options: RunOptions = {}) =>
  posthaste(['redrive', ...args], { ...options, ...(env && { env }) });

const ON_AWS = ['ingress', '--deployment', 'Posthaste'];
const summary = (redriven: number, left: number) =>
  `${JSON.stringify({ queue: 'ingress', redriven, skipped: 0, left, hidden: 0 })}\n`;

describe('posthaste redrive', () => {
  it('finds the deployment by its stacks, sends its dead letters back, and prints one line of JSON', async () => {
    const { environment, sent, deadLetters } = await deployed({ bodies: ['one', '{"n": 2}'] });
    expect(await redrive([...ON_AWS, '--json'], environment)).toEqual({
      status: 0,
      stdout: summary(2, 0),
      stderr: '',
    });
    expect(sent).toEqual([
      { queue: 'IngressQueueUrl', body: 'one', attributes: { 'posthaste-id': 'letter-0' } },
      { queue: 'IngressQueueUrl', body: '{"n": 2}', attributes: { 'posthaste-id': 'letter-1' } },
    ]);
    expect(deadLetters.size).toBe(0);
  });

  it('sends operations back to their queue unchanged, so that they continue where they stopped', async () => {
    const operation = { v: 1, kind: 'cancellation', queue: 'orders', deletedAt: 1, cursor: 'page-7' };
    const body = JSON.stringify(operation);
    const { environment, sent, deadLetters } = await deployed({ bodies: [body, '{"v":1,"kind":"parcel"}'] });
    const args = ['operation', '--deployment', 'Posthaste'];
    expect((await redrive(args, environment)).stdout).toBe(
      'Dead letters of the operation queue in Posthaste: 1 redriven, 1 skipped (unknown_kind 1), 0 left.\n',
    );
    expect(sent).toEqual([{ queue: 'OperationQueueUrl', body, attributes: {} }]);
    expect(deadLetters.size).toBe(1);
  });

  it('refuses queues that may not belong to the API of POSTHASTE_API_URL, and takes named ones', async () => {
    const { environment, deadLetters } = await deployed({ bodies: ['one'] });
    const env = { ...environment, POSTHASTE_API_URL: 'https://api.example.com' };
    for (const args of [['undeliverable'], ['ingress']]) {
      const { status, stderr } = await redrive(args, env);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining('name the deployment by --deployment') as unknown,
      });
    }
    expect(deadLetters.size).toBe(1);
    expect((await redrive([...ON_AWS, '--json'], env)).stdout).toBe(summary(1, 0));
  });

  it('prints the result as a sentence', async () => {
    const { environment } = await deployed({ bodies: ['one'] });
    expect((await redrive(ON_AWS, environment)).stdout).toBe(
      'Dead letters of the ingress queue in Posthaste: 1 redriven, 0 skipped, 0 left.\n',
    );
  });

  it.each([
    { args: ['--limit', '1'], redriven: 1 },
    { args: ['--since', '30m'], redriven: 0 },
    { args: ['--since', '2h', '--limit', '3'], redriven: 3 },
    { args: ['--since', new Date(Date.now() - 2 * AN_HOUR).toISOString(), '--limit', '3'], redriven: 3 },
  ])('redrives $redriven of three dead letters sent an hour ago with $args', async ({ args, redriven }) => {
    const { environment, sent } = await deployed({ bodies: ['1', '2', '3'] });
    const { stdout } = await redrive([...ON_AWS, ...args, '--json'], environment);
    expect(stdout).toBe(summary(redriven, 3 - redriven));
    expect(sent).toHaveLength(redriven);
  });

  it('completes the current batch on repeated Ctrl-C, prints the counts, and exits with status 130', async () => {
    const { press, options } = ctrlC();
    const { environment, deadLetters } = await deployed({
      bodies: Array.from({ length: 60 }, (_, n) => String(n)),
      onSend: () => {
        press();
        press();
        return undefined;
      },
    });
    const run = await redrive([...ON_AWS, '--json'], environment, options);
    expect(run).toEqual({ status: 130, stdout: summary(50, 10), stderr: '' });
    expect(deadLetters.size).toBe(10);
  });

  it('reports the reason and its progress, with status 1 and no stack trace, if AWS refuses', async () => {
    const { environment, deadLetters } = await deployed({
      bodies: ['one'],
      onSend: () => ({
        status: 403,
        body: JSON.stringify({ __type: 'com.amazonaws.sqs#AccessDenied', message: 'no' }),
      }),
    });
    const { status, stdout, stderr } = await redrive(ON_AWS, environment);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^→ Posthaste, account 111122223333, us-east-1\nposthaste: The redrive stopped after 0 messages: .*AccessDenied.*\n$/,
    );
    expect(deadLetters.size).toBe(1);
  });

  it('reports in one message that the stacks are from an older version', async () => {
    const { environment } = await deployed();
    const { status, stderr } = await redrive(['ingress', '--deployment', 'Old'], environment);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^posthaste: The stacks of Old have no output ApiUrl, .*\n$/);
  });

  it('reports in one message that AWS cannot be reached', async () => {
    const { environment, close } = await deployed();
    await close();
    const { status, stderr } = await redrive(ON_AWS, environment);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^posthaste: The stack \w+ could not be looked up in AWS: .*ECONNREFUSED.*\n$/);
  });

  describe('of a mistyped queue', () => {
    const body = '{"queue":"ordrs","id":"m1","data":1}';
    /** `subscribed`: the queues that exist, and whether they have a subscription. */
    const mistyped = (subscribed: Record<string, boolean>) =>
      deployed({
        bodies: [body],
        attributes: { [body]: { reason: 'unknown_queue' } },
        onApi: (request) => {
          const [, queue = '', rest] = /^GET \/v2\/queues\/(\w+)(\/subscriptions)?/.exec(request) ?? [];
          const isSubscribed = subscribed[queue];
          if (request.startsWith('GET /v2/queues?'))
            return json({ queues: Object.keys(subscribed).map((name) => ({ name })), links: [] });
          if (isSubscribed === undefined) return refusal(404, 'not_found', 'there is no such queue');
          if (rest === undefined) return json({});
          return json({ subscriptions: isSubscribed ? [subscription] : [], links: [] });
        },
      });

    it('sends the message to the queue that was meant', async () => {
      const { environment, sent, deadLetters } = await mistyped({ orders: true });
      const { stdout } = await redrive([...ON_AWS, '--to-queue', 'orders', '--json'], environment);
      expect(stdout).toBe(summary(1, 0));
      const attributes = { queue: 'orders', 'posthaste-id': 'letter-0' };
      expect(sent).toEqual([{ queue: 'IngressQueueUrl', body, attributes }]);
      expect(deadLetters.size).toBe(0);
    });

    it('sends nothing to another queue that is missing, and suggests a name', async () => {
      const { environment, sent } = await mistyped({ orders: true });
      const { status, stderr } = await redrive([...ON_AWS, '--to-queue', 'oders'], environment);
      expect({ status, sent }).toEqual({ status: 1, sent: [] });
      expect(stderr).toContain('There is no queue oders. Did you mean orders?');
    });

    it.each([
      ['is missing', {}, [], 'there is no queue ordrs'],
      ['has no subscription', { ordrs: false }, ['--dry-run'], 'queue ordrs has no subscription'],
      [
        'was given and has no subscription',
        { orders: false },
        ['--to-queue', 'orders'],
        'queue orders has no',
      ],
    ])('keeps the message while the queue %s: it would be lost', async (_, queues, args, reason) => {
      const { environment, sent, deadLetters } = await mistyped(queues);
      const { stdout } = await redrive([...ON_AWS, ...args], environment);
      expect(stdout).toContain(
        `0 ${args[0] === '--dry-run' ? 'would be ' : ''}redriven, 1 skipped (${reason}`,
      );
      expect({ sent, left: deadLetters.size }).toEqual({ sent: [], left: 1 });
    });

    it.each([
      ['once the queue has a subscription', { ordrs: true }, []],
      ['where that is wanted', { ordrs: false }, ['--even-unmatched']],
    ])('sends the message to its own queue %s', async (_, queues, args) => {
      const { environment, sent } = await mistyped(queues);
      expect((await redrive([...ON_AWS, ...args, '--json'], environment)).stdout).toBe(summary(1, 0));
      expect(sent).toMatchObject([{ attributes: { 'posthaste-id': 'letter-0' } }]);
    });

    it('is shown with the name that was probably meant', async () => {
      const { environment } = await mistyped({ orders: true });
      const args = ['deadletters', 'show', 'ingress', 'letter-0', '--deployment', 'Posthaste'];
      const { stdout } = await posthaste(args, { env: environment });
      expect(stdout).toContain('There is no queue ordrs. Did you mean orders?');
    });
  });
});

const noticeSummary = (counts: { redriven: number; settled: number; skipped: number; left: number }) =>
  `${JSON.stringify({ queue: 'undeliverable', ...counts, hidden: 0 })}\n`;

describe('posthaste redrive undeliverable', () => {
  it('retries each delivery through the API and removes its notice', async () => {
    const { run, retried, deadLetters, sent } = await withNotices({
      m1: { status: 'exhausted', attempts: 2 },
      m2: { status: 'rejected', attempts: 2 },
    });
    expect(await run('--json')).toEqual({
      status: 0,
      stdout: noticeSummary({ redriven: 2, settled: 0, skipped: 0, left: 0 }),
      stderr: '',
    });
    expect(retried.toSorted()).toEqual(['m1', 'm2']);
    expect(deadLetters.size).toBe(0);
    // Deliveries keep their ids: nothing is published again.
    expect(sent).toEqual([]);
  });

  it('removes the notices of deliveries that need no retry', async () => {
    const { run, retried, deadLetters } = await withNotices({
      delivered: { status: 'delivered', attempts: 3 },
      open: { status: 'retrying', attempts: 2 },
      cancelled: { status: 'cancelled', attempts: 2 },
      later: { status: 'exhausted', attempts: 4 },
    });
    const { stdout } = await run();
    expect(stdout).toMatch(
      /^Notices of undeliverable deliveries in Posthaste: 0 redriven, 4 settled \(.*\), 0 skipped, 0 left\.\n$/,
    );
    for (const reason of ['delivered', 'open', 'cancelled', 'ended_again'])
      expect(stdout).toContain(`${reason} 1`);
    expect(retried).toEqual([]);
    expect(deadLetters.size).toBe(0);
  });

  it('skips and keeps notices of deliveries that cannot be retried, with the reason', async () => {
    const gone = refusal(409, 'conflict', 'the body of this message is not kept');
    const bodies = [notice('m1'), notice('unknown'), 'garbage', '{"queue":"orders"}'];
    const { run, deadLetters } = await withNotices(
      { m1: { status: 'exhausted', attempts: 2, retry: gone } },
      bodies,
    );
    const { status, stdout } = await run();
    expect(status).toBe(0);
    expect(stdout).toContain('0 redriven, 4 skipped');
    for (const reason of [
      'the body of this message is not kept',
      'not_on_record',
      'not_json',
      'invalid_field:messageId',
    ])
      expect(stdout).toContain(`${reason} 1`);
    expect(deadLetters.size).toBe(4);
  });

  it('can be repeated after a failure between a retry and the removal of its notice: the notice is settled', async () => {
    const standings: Record<string, Standing> = {
      m1: { status: 'exhausted', attempts: 2 },
      m2: { status: 'exhausted', attempts: 2, retry: json({ message: 'busy' }, 503) },
    };
    const { run, deadLetters, retried } = await withNotices(standings);
    const { status, stderr } = await run('--json');
    expect(status).toBe(1);
    expect(stderr).toContain('The redrive stopped after 0 messages');
    expect(deadLetters.size).toBe(2);

    standings['m1'] = { status: 'retrying', attempts: 2 };
    standings['m2'] = { status: 'exhausted', attempts: 2 };
    expect((await run('--json')).stdout).toBe(
      noticeSummary({ redriven: 1, settled: 1, skipped: 0, left: 0 }),
    );
    expect(deadLetters.size).toBe(0);
    expect(retried.filter((id) => id === 'm1')).toHaveLength(1);
  });

  it('leaves a second notice of a delivery for the next run, which settles it', async () => {
    const standings = { m1: { status: 'exhausted', attempts: 2 } };
    const { run, retried, deadLetters } = await withNotices(standings, [notice('m1'), notice('m1')]);
    expect((await run('--json')).stdout).toBe(
      noticeSummary({ redriven: 1, settled: 0, skipped: 0, left: 1 }),
    );
    standings.m1 = { status: 'exhausted', attempts: 4 };
    expect((await run('--json')).stdout).toBe(
      noticeSummary({ redriven: 0, settled: 1, skipped: 0, left: 0 }),
    );
    expect(retried).toEqual(['m1']);
    expect(deadLetters.size).toBe(0);
  });
});

const STANDINGS: Record<string, Standing> = {
  m1: { status: 'delivered', attempts: 3 },
  m2: { status: 'cancelled', attempts: 2 },
  m3: { status: 'exhausted', attempts: 4 },
  m4: { status: 'exhausted', attempts: 2 },
  m5: { status: 'retrying', attempts: 2 },
};

describe('undeliverable notices', () => {
  it('are retried neither by a dry run, nor removed', async () => {
    const { run, retried, deadLetters } = await withNotices(STANDINGS);
    expect(JSON.parse((await run('--dry-run', '--json')).stdout)).toEqual({
      queue: 'undeliverable',
      redriven: 1,
      settled: 4,
      skipped: 0,
      left: 0,
      hidden: 0,
      dryRun: true,
    });
    expect({ retried, left: deadLetters.size }).toEqual({ retried: [], left: 5 });
  });

  describe('of a subscription that was deleted', () => {
    const NONE = refusal(404, 'not_found', 'there is no such subscription');
    const standings = { m1: { status: 'exhausted', attempts: 2 }, m2: { status: 'rejected', attempts: 2 } };
    const bodies = [notice('m1'), notice('m2'), notice('unknown')];

    it.each([
      ['a redrive', ['redrive', 'undeliverable'], '0 redriven, 3 settled', 0],
      ['a dry run', ['redrive', 'undeliverable', '--dry-run'], '0 would be redriven, 3 settled', 3],
      ['a deletion', ['deadletters', 'delete', 'undeliverable', '--settled', '--yes'], '3 deleted', 0],
    ])('are settled by %s', async (_, args, said, left) => {
      const { posthaste: there, retried, deadLetters } = await withNotices(standings, bodies, NONE);
      const { stdout } = await there(...args);
      expect(stdout).toContain(said);
      expect({ retried, left: deadLetters.size }).toEqual({ retried: [], left });
    });

    it('show that', async () => {
      const { posthaste: there } = await withNotices(standings, bodies, NONE);
      const { stdout } = await there('deadletters', 'list', 'undeliverable', '--json');
      expect(jsonLines(stdout)).toMatchObject(bodies.map(() => ({ state: 'subscription_deleted' })));
    });
  });

  it.each([
    ['disabled; enable it first', { disabled: { reason: 'manual', at: '2026-01-01T00:00:00.000Z' } }],
    ['unconfirmed', { confirmed: false }],
  ])('of a subscription that is %s would be kept, says a dry run', async (state, difference) => {
    const subscribed = json({ ...subscription, ...difference });
    const { run } = await withNotices({ m1: { status: 'exhausted', attempts: 2 } }, undefined, subscribed);
    expect((await run('--dry-run')).stdout).toContain(
      `0 would be redriven, 1 skipped (the subscription is ${state} 1)`,
    );
  });

  it('are redriven by a caller who may not read subscriptions', async () => {
    const { run, retried } = await withNotices(
      { m1: { status: 'exhausted', attempts: 2 } },
      undefined,
      json({ message: 'Forbidden' }, 403),
    );
    expect((await run()).stdout).toContain('1 redriven');
    expect(retried).toEqual(['m1']);
  });

  it('show what became of their deliveries', async () => {
    const { posthaste: there } = await withNotices(STANDINGS);
    const { stdout } = await there('deadletters', 'list', 'undeliverable', '--json');
    expect(jsonLines(stdout)).toMatchObject([
      { messageId: 'm1', state: 'delivered' },
      { messageId: 'm2', state: 'cancelled' },
      { messageId: 'm3', state: 'ended_again' },
      { messageId: 'm4', state: 'exhausted' },
      { messageId: 'm5', state: 'open' },
    ]);
  });

  it('that need nothing more can be deleted; the others stay', async () => {
    const { posthaste: there, deadLetters, held } = await withNotices(STANDINGS);
    const { stdout } = await there('deadletters', 'delete', 'undeliverable', '--settled', '--yes');
    expect(stdout).toContain('3 deleted, 2 skipped (exhausted 1, open 1), 0 left');
    expect([...deadLetters.values()]).toEqual([notice('m4'), notice('m5')]);
    expect(held.size).toBe(0);
  });
});
