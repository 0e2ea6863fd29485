import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { deliveryViewSchema } from '../../shared/wire/views/delivery.ts';
import { finishedDelivery } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { startReceiver } from '../support/receiver.ts';

const { apiUrl, endpoint } = deployment.endpoints;

const receiver = await startReceiver();
afterAll(receiver.close);

/** The API's URL is set explicitly, because its host name does not resolve on the local AWS. */
const env = {
  ...plainEnvironment(),
  ...awsEnvironment(endpoint, deployment.endpoints),
  POSTHASTE_API_URL: apiUrl,
};

const commandOf = (args: readonly string[]): string[] => [
  'cli/posthaste.mjs',
  ...args,
  '--deployment',
  'Posthaste',
  '--json',
];

/** Runs the command with `--json` and returns its lines. */
const posthaste = (...args: string[]): Promise<unknown[]> =>
  new Promise((resolve, reject) => {
    execFile(projectNode, commandOf(args), { cwd: projectRoot, env }, (error, stdout, stderr) => {
      if (error !== null) reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
      else resolve(stdout.split('\n').flatMap((line): unknown[] => (line === '' ? [] : [JSON.parse(line)])));
    });
  });

const one = async <T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> =>
  z.tuple([schema]).parse(await posthaste(...args))[0];

// Concurrent, because these tests mostly wait.
describe.concurrent('the command on the deployed system', () => {
  it('creates a queue, publishes, retries a rejected delivery and shows balanced books', async () => {
    const queue = `command-${randomUUID()}`;
    receiver.script(`/${queue}`, [{ status: 400 }, { status: 200 }]);
    await posthaste('queue', 'create', queue, '--policy', '{"maximum_delay": 60}');
    const created = z.object({ subscription_id: z.string() });
    const { subscription_id: subscription } = await one(
      created,
      'subscription',
      'create',
      queue,
      receiver.url(`/${queue}`),
      '--name',
      'ACME',
    );
    const data = '{"big": 12345678901234567890, "b":1.0}';
    await posthaste('publish', queue, '--id', 'first', '--data', data);
    await finishedDelivery(queue, 'first');

    const [listed] = await posthaste('deliveries', 'list', queue, '--status', 'rejected');
    expect(listed).toMatchObject({ messageId: 'first', subscriptionId: subscription, reason: 'http_400' });
    expect(await one(deliveryViewSchema, 'retry', queue, 'first', 'ACME')).toMatchObject({
      status: 'retrying',
    });
    await posthaste('deliveries', 'watch', queue, '--message', 'first', '--for', '30');

    const [delivered] = await posthaste('deliveries', 'show', queue, 'first', subscription);
    expect(delivered).toMatchObject({
      status: 'delivered',
      attempts: [{ phase: 'initial' }, { phase: 'manual' }],
    });
    const requests = receiver.received(`/${queue}`);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(['first', 'first']);
    for (const { body } of requests) expect(body.toString()).toContain(`"data":${data}}`);
    const { books, balances } = await one(booksViewSchema, 'books', queue, '--since', '1h');
    expect(books).toMatchObject({ accepted: 1, matched: 1, delivered: 1, rejected: 0, pending: 0 });
    expect(balances).toBe(true);

    const [found] = await posthaste('find', 'first', '--queue', queue);
    expect(found).toMatchObject({ kind: 'message', queue, id: 'first' });
    const [explained] = await posthaste('explain', queue, 'first', subscription.slice(0, 8));
    expect(explained).toMatchObject({ subscriptionId: subscription, verdict: 'delivered' });
    const [sent] = await posthaste('send', queue, 'first', '--to', receiver.url(`/${queue}`), '--wait');
    expect(sent).toMatchObject({ status: 'delivered', attempts: [{}, {}, { outcome: 'delivered' }] });
  });

  it('refuses a message for a queue that does not exist', async () => {
    const queue = `missing-${randomUUID()}`;
    await expect(posthaste('publish', queue, '--data', '1')).rejects.toThrow(`There is no queue ${queue}.`);
    await expect(posthaste('queue', 'delete', queue)).rejects.toThrow(`There is no queue ${queue}.`);
  });

  it('reports the deployment, its API and its tables as ok', async () => {
    const checks = ['deployment', 'API', 'credentials', 'subscriptions table', 'deliveries table'];
    const doctor = spawn(projectNode, commandOf(['doctor']), {
      cwd: projectRoot,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const found: unknown[] = [];
    for await (const line of createInterface({ input: doctor.stdout })) {
      found.push(JSON.parse(line));
      // The remaining checks wait for empty queues and find the dead letters of other tests.
      if (found.length === checks.length) break;
    }
    doctor.kill('SIGINT');
    expect(found).toMatchObject(checks.map((check) => ({ check, state: 'ok' })));
  });
});
