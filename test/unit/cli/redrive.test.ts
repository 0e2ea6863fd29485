import { afterAll, describe, expect, it } from 'vitest';
import { posthaste, type RunningCommand } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import { stubbedDeployment, type StubbedDeployment } from './stubbed-deployment.ts';
import { subscription } from './undeliverable-deployment.ts';

const AN_HOUR = 3_600_000;

type Options = Parameters<typeof stubbedDeployment>[0];

const stubs: StubbedDeployment[] = [];
afterAll(async () => {
  await Promise.all(stubs.map((stub) => stub.close()));
});

const deployed = async (options: Partial<Options> = {}): Promise<StubbedDeployment> => {
  const stub = await stubbedDeployment({ bodies: [], sentAt: Date.now() - AN_HOUR, ...options });
  stubs.push(stub);
  return stub;
};

const redrive = (args: string[], env?: NodeJS.ProcessEnv, onStart?: (command: RunningCommand) => void) =>
  posthaste(['redrive', ...args], { ...(env && { env }), ...(onStart && { onStart }) });

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
    let interrupt = (): void => undefined;
    const { environment, deadLetters } = await deployed({
      bodies: Array.from({ length: 60 }, (_, n) => String(n)),
      onSend: () => {
        interrupt();
        interrupt();
        return undefined;
      },
    });
    const run = await redrive([...ON_AWS, '--json'], environment, (command) => {
      ({ interrupt } = command);
    });
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

  it.each([
    ['an unknown queue', ['retry']],
    ['a time in the future', ['ingress', '--since', '2999-01-01T00:00:00Z']],
    ['another queue for what is no ingress message', ['delivery', '--to-queue', 'orders']],
    ['a limit of zero', ['ingress', '--limit', '0']],
  ])('answers %s with the usage and status 2', async (_, args) => {
    const { status, stdout, stderr } = await redrive(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('See posthaste redrive --help');
    expect(stderr).not.toMatch(/^\s+at /m);
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
