import { describe, expect, it } from 'vitest';
import { ctrlC, posthaste } from './run-command.ts';
import { FORBIDDEN, json, NOT_FOUND, refusal } from './stub-api.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';
import { deployed, notice, type Standings, subscription } from './undeliverable-deployment.ts';

/** The line of JSON about ingress dead letters. */
const summary = (redriven: number, left: number) =>
  `${JSON.stringify({ queue: 'ingress', redriven, skipped: 0, left, hidden: 0 })}\n`;

describe('posthaste redrive', () => {
  it('finds the deployment by its stacks, sends its dead letters back, and prints one line of JSON', async () => {
    const { run, sent, deadLetters } = await stubbedDeployment({ bodies: ['one', '{"n": 2}'] });
    expect(await run('redrive ingress --json')).toEqual({ status: 0, stdout: summary(2, 0), stderr: '' });
    expect(sent).toEqual([
      { queue: 'IngressQueueUrl', body: 'one', attributes: { 'posthaste-id': 'letter-0' } },
      { queue: 'IngressQueueUrl', body: '{"n": 2}', attributes: { 'posthaste-id': 'letter-1' } },
    ]);
    expect(deadLetters.size).toBe(0);
  });

  it('sends operations back to their queue unchanged, so that they continue where they stopped', async () => {
    const body = '{"v":1,"kind":"cancellation","queue":"orders","deletedAt":1,"cursor":"page-7"}';
    const { run, sent, deadLetters } = await stubbedDeployment({ bodies: [body, '{"v":1,"kind":"parcel"}'] });
    expect((await run('redrive operation')).stdout).toBe(
      'Dead letters of the operation queue in Posthaste: 1 redriven, 1 skipped (unknown_kind 1), 0 left.\n',
    );
    expect(sent).toEqual([{ queue: 'OperationQueueUrl', body, attributes: {} }]);
    expect(deadLetters.size).toBe(1);
  });

  describe('of what dispatch cannot read', () => {
    const unreadable = () =>
      stubbedDeployment({
        bodies: ['{', '{"queue":"orders"}', 'fine'],
        attributes: {
          '{': { reason: 'not_json' },
          '{"queue":"orders"}': { reason: 'data_missing' },
          fine: { reason: 'failed_repeatedly' },
        },
      });

    it('skips it by its reason, because it would come back', async () => {
      const { run, sent, deadLetters } = await unreadable();
      expect((await run('redrive ingress')).stdout).toBe(
        'Dead letters of the ingress queue in Posthaste: 1 redriven, 2 skipped (not_json 1, data_missing 1), 0 left.\n',
      );
      expect(sent.map(({ body }) => body)).toEqual(['fine']);
      expect(deadLetters.size).toBe(2);
    });

    it('sends it where the reason is named, for a release that reads it', async () => {
      const { run, sent } = await unreadable();
      expect((await run('redrive ingress --reason not_json --json')).stdout).toBe(summary(1, 2));
      expect(sent.map(({ body }) => body)).toEqual(['{']);
    });
  });

  it('sends back what the catalogue refused, because its schema or type may be mended', async () => {
    const { run, sent } = await stubbedDeployment({
      bodies: ['one', 'two'],
      attributes: { one: { reason: 'event_invalid:/total' }, two: { reason: 'unknown_event_type' } },
    });
    expect((await run('redrive ingress --reason event_invalid --json')).stdout).toBe(summary(1, 1));
    expect((await run('redrive ingress --json')).stdout).toBe(summary(1, 0));
    expect(sent.map(({ body }) => body)).toEqual(['one', 'two']);
  });

  it.each(['undeliverable', 'ingress'])(
    'refuses the %s queue where it may not belong to the API of POSTHASTE_API_URL, unless it is named',
    async (queue) => {
      const { environment, run, deadLetters } = await stubbedDeployment({ bodies: ['one'] });
      const env = { ...environment, POSTHASTE_API_URL: 'https://api.example.com' };
      const { status, stderr } = await posthaste(`redrive ${queue}`, { env });
      expect(status).toBe(1);
      expect(stderr).toContain('name the deployment by --deployment');
      expect(deadLetters.size).toBe(1);
      expect((await run('redrive ingress --json', { env })).stdout).toBe(summary(1, 0));
    },
  );

  it.each([
    ['--since 30m', 0],
    ['--since 2h --limit 2', 2],
  ])('with %s redrives %i of three dead letters sent an hour ago', async (options, redriven) => {
    const { run, sent } = await stubbedDeployment({ bodies: ['1', '2', '3'] });
    const { stdout } = await run(`redrive ingress --json ${options}`);
    expect({ stdout, sent: sent.length }).toEqual({
      stdout: summary(redriven, 3 - redriven),
      sent: redriven,
    });
  });

  it('completes the current batch on repeated Ctrl-C, prints the counts, and exits with status 130', async () => {
    const { press, options } = ctrlC();
    const { run, deadLetters } = await stubbedDeployment({
      bodies: Array.from({ length: 60 }, (_, n) => String(n)),
      onSend: () => {
        press();
        press();
        return undefined;
      },
    });
    const interrupted = await run('redrive ingress --json', options);
    expect(interrupted).toEqual({ status: 130, stdout: summary(50, 10), stderr: '' });
    expect(deadLetters.size).toBe(10);
  });

  it('reports the reason and its progress, with status 1 and no stack trace, if AWS refuses', async () => {
    const refused = json({ __type: 'com.amazonaws.sqs#AccessDenied', message: 'no' }, 403);
    const { run, deadLetters } = await stubbedDeployment({ bodies: ['one'], onSend: () => refused });
    const { status, stdout, stderr } = await run('redrive ingress');
    expect({ status, stdout, left: deadLetters.size }).toEqual({ status: 1, stdout: '', left: 1 });
    expect(stderr).toMatch(
      /^→ Posthaste, account 111122223333, us-east-1\nposthaste: The redrive stopped after 0 messages: .*AccessDenied.*\n$/,
    );
  });

  it('reports in one message that the stacks are from an older version', async () => {
    const { environment } = await stubbedDeployment();
    const { status, stderr } = await posthaste('redrive ingress --deployment Old', { env: environment });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^posthaste: The stacks of Old have no output ApiUrl, .*\n$/);
  });

  describe('of a mistyped queue', () => {
    const body = '{"queue":"ordrs","id":"m1","data":1}';
    /** `subscribed`: the queues that exist, and whether they have a subscription. */
    const mistyped = (subscribed: Record<string, boolean>) =>
      stubbedDeployment({
        bodies: [body],
        attributes: { [body]: { reason: 'unknown_queue' } },
        onApi: (request) => {
          const [, queue = '', rest] = /^GET \/v2\/queues\/(\w+)(\/subscriptions)?/.exec(request) ?? [];
          const isSubscribed = subscribed[queue];
          if (request.startsWith('GET /v2/queues?'))
            return json({ queues: Object.keys(subscribed).map((name) => ({ name })), links: [] });
          if (isSubscribed === undefined) return NOT_FOUND;
          if (rest === undefined) return json({});
          return json({ subscriptions: isSubscribed ? [subscription] : [], links: [] });
        },
      });

    it('sends nothing to another queue that is missing, and suggests a name', async () => {
      const { run, sent } = await mistyped({ orders: true });
      const { status, stderr } = await run('redrive ingress --to-queue oders');
      expect({ status, sent }).toEqual({ status: 1, sent: [] });
      expect(stderr).toContain('There is no queue oders. Did you mean orders?');
    });

    it.each([
      ['is missing', {}, '', '0 redriven, 1 skipped (there is no queue ordrs'],
      ['has no subscription', { ordrs: false }, ' --dry-run', '0 would be redriven, 1 skipped (queue ordrs'],
      ['was given and has none', { orders: false }, ' --to-queue orders', '1 skipped (queue orders has no'],
    ])('keeps the message while the queue %s: it would be lost', async (_, queues, options, said) => {
      const { run, sent, deadLetters } = await mistyped(queues);
      expect((await run(`redrive ingress${options}`)).stdout).toContain(said);
      expect({ sent, left: deadLetters.size }).toEqual({ sent: [], left: 1 });
    });

    it.each([
      ['to the queue that was meant', { orders: true }, ' --to-queue orders', { queue: 'orders' }],
      ['to its own queue, once that has a subscription', { ordrs: true }, '', {}],
      ['to its own queue, where that is wanted', { ordrs: false }, ' --even-unmatched', {}],
    ])('sends the message %s', async (_, queues, options, attributes) => {
      const { run, sent, deadLetters } = await mistyped(queues);
      expect((await run(`redrive ingress --json${options}`)).stdout).toBe(summary(1, 0));
      expect(sent).toMatchObject([{ body, attributes: { ...attributes, 'posthaste-id': 'letter-0' } }]);
      expect(deadLetters.size).toBe(0);
    });

    it('is shown with the name that was probably meant', async () => {
      const { run } = await mistyped({ orders: true });
      const { stdout } = await run('deadletters show ingress letter-0');
      expect(stdout).toContain('There is no queue ordrs. Did you mean orders?');
    });
  });
});

describe('posthaste redrive undeliverable', () => {
  const REDRIVE = 'redrive undeliverable --json';
  const exhausted = { status: 'exhausted', attempts: 2 };

  it('retries each delivery through the API and removes its notice', async () => {
    const { run, retried, deadLetters, sent } = await deployed({
      m1: exhausted,
      m2: { ...exhausted, status: 'rejected' },
    });
    const { status, lines } = await run(REDRIVE);
    expect({ status, lines }).toMatchObject({ status: 0, lines: [{ redriven: 2, settled: 0, skipped: 0 }] });
    expect(retried.toSorted()).toEqual(['m1', 'm2']);
    // Deliveries keep their ids: nothing is published again.
    expect({ left: deadLetters.size, sent }).toEqual({ left: 0, sent: [] });
  });

  it('skips and keeps notices of deliveries that cannot be retried, with the reason', async () => {
    const gone = refusal(409, 'conflict', 'the body of this message is not kept');
    const bodies = [notice('m1'), notice('unknown'), 'garbage', '{"queue":"orders"}'];
    const { run, deadLetters } = await deployed({ m1: { ...exhausted, retry: gone } }, { bodies });
    const { status, stdout } = await run('redrive undeliverable');
    expect({ status, left: deadLetters.size }).toEqual({ status: 0, left: 4 });
    expect(stdout).toContain('0 redriven, 4 skipped');
    for (const reason of ['message is not kept', 'not_on_record', 'not_json', 'invalid_field:messageId'])
      expect(stdout).toContain(`${reason} 1`);
  });

  it('can be repeated after a failure between a retry and the removal of its notice: the notice is settled', async () => {
    const standings: Standings = {
      m1: exhausted,
      m2: { ...exhausted, retry: json({ message: 'busy' }, 503) },
    };
    const { run, deadLetters, retried } = await deployed(standings);
    const { status, stderr } = await run(REDRIVE);
    expect({ status, left: deadLetters.size }).toEqual({ status: 1, left: 2 });
    expect(stderr).toContain('The redrive stopped after 0 messages');

    Object.assign(standings, { m1: { ...exhausted, status: 'retrying' }, m2: exhausted });
    expect((await run(REDRIVE)).lines).toMatchObject([{ redriven: 1, settled: 1, skipped: 0, left: 0 }]);
    expect(deadLetters.size).toBe(0);
    expect(retried.filter((id) => id === 'm1')).toHaveLength(1);
  });

  it('leaves a second notice of a delivery for the next run, which settles it', async () => {
    const standings: Standings = { m1: exhausted };
    const { run, retried, deadLetters } = await deployed(standings, { bodies: [notice('m1'), notice('m1')] });
    expect((await run(REDRIVE)).lines).toMatchObject([{ redriven: 1, settled: 0, skipped: 0, left: 1 }]);
    standings['m1'] = { ...exhausted, attempts: 4 };
    expect((await run(REDRIVE)).lines).toMatchObject([{ redriven: 0, settled: 1, skipped: 0, left: 0 }]);
    expect({ retried, left: deadLetters.size }).toEqual({ retried: ['m1'], left: 0 });
  });
});

const STANDINGS: Standings = {
  m1: { status: 'delivered', attempts: 3 },
  m2: { status: 'cancelled', attempts: 2 },
  m3: { status: 'exhausted', attempts: 4 },
  m4: { status: 'exhausted', attempts: 2 },
  m5: { status: 'retrying', attempts: 2 },
};
const EXHAUSTED: Standings = { m1: { status: 'exhausted', attempts: 2 } };

describe('undeliverable notices', () => {
  it('show what became of their deliveries', async () => {
    const { run } = await deployed(STANDINGS);
    expect((await run('deadletters list undeliverable --json')).lines).toMatchObject([
      { messageId: 'm1', state: 'delivered' },
      { messageId: 'm2', state: 'cancelled' },
      { messageId: 'm3', state: 'ended_again' },
      { messageId: 'm4', state: 'exhausted' },
      { messageId: 'm5', state: 'open' },
    ]);
  });

  it.each([
    ['redrive undeliverable', '1 redriven, 4 settled (delivered 1, cancelled 1, ended_again 1, open 1)', ''],
    ['redrive undeliverable --dry-run', '1 would be redriven, 4 settled', 'm1 m2 m3 m4 m5'],
    ['deadletters delete undeliverable --settled --yes', '3 deleted, 2 skipped (exhausted 1, ', 'm4 m5'],
  ])('that need nothing more are settled: %s', async (line, said, left) => {
    const { run, retried, deadLetters, held } = await deployed(STANDINGS);
    expect((await run(line)).stdout).toContain(said);
    expect([...deadLetters.values()]).toEqual(
      left
        .split(' ')
        .filter(Boolean)
        .map((id) => notice(id)),
    );
    expect({ retried, held: held.size }).toEqual({ retried: left === '' ? ['m4'] : [], held: 0 });
  });

  describe('of a subscription that was deleted', () => {
    const bodies = [notice('m1'), notice('m2'), notice('unknown')];
    const standings = { ...EXHAUSTED, m2: { status: 'rejected', attempts: 2 } };

    it.each([
      ['redrive undeliverable', '0 redriven, 3 settled', 0],
      ['redrive undeliverable --dry-run', '0 would be redriven, 3 settled', 3],
      ['deadletters delete undeliverable --settled --yes', '3 deleted', 0],
      ['deadletters list undeliverable', '  subscription deleted  ', 3],
    ])('are settled: %s', async (line, said, left) => {
      const { run, retried, deadLetters } = await deployed(standings, { bodies, subscribed: NOT_FOUND });
      expect((await run(line)).stdout).toContain(said);
      expect({ retried, left: deadLetters.size }).toEqual({ retried: [], left });
    });
  });

  it.each([
    ['disabled; enable it first', { disabled: { reason: 'manual', at: '2026-01-01T00:00:00.000Z' } }],
    ['unconfirmed', { confirmed: false }],
  ])('of a subscription that is %s would be kept, says a dry run', async (state, difference) => {
    const { run } = await deployed(EXHAUSTED, { subscribed: json({ ...subscription, ...difference }) });
    expect((await run('redrive undeliverable --dry-run')).stdout).toContain(
      `0 would be redriven, 1 skipped (the subscription is ${state} 1)`,
    );
  });

  it('are redriven by a caller who may not read subscriptions', async () => {
    const { run, retried } = await deployed(EXHAUSTED, { subscribed: FORBIDDEN });
    expect((await run('redrive undeliverable')).stdout).toContain('1 redriven');
    expect(retried).toEqual(['m1']);
  });
});
