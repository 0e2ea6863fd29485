import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { deliveryViewSchema } from '../../shared/wire/views/delivery.ts';
import { deliveriesOf, finishedDelivery } from '../support/api-client.ts';
import { commandEnvironment, onDeployment } from '../support/deployed-command.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { jsonLines } from '../unit/cli/run-command.ts';

const receiver = await receiverOfTests();

/** Runs the command with `--json` and returns its lines. */
const posthaste = async (...args: string[]): Promise<unknown[]> => {
  const { status, stdout, stderr } = await onDeployment(...args, '--json');
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`);
  return jsonLines(stdout);
};

const one = async <T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> =>
  z.tuple([schema]).parse(await posthaste(...args))[0];

const CREATED_YAML = `
description: An order was placed.
schema:
  type: object
  properties: { total: { type: integer } }
  required: [total]
example: { total: 1250 }
`;

// Concurrent, because these tests mostly wait.
describe.concurrent('the command on the deployed system', () => {
  it('creates a queue, publishes, retries a rejected delivery and shows balanced books', async () => {
    const queue = `command-${randomUUID()}`;
    receiver.script(`/${queue}`, [{ status: 400 }, { status: 200 }]);
    await posthaste('queue', 'create', queue, '--policy', '{"maximum_delay": 60}');
    const { subscription_id: subscription } = await one(
      z.object({ subscription_id: z.string() }),
      ...['subscription', 'create', queue, receiver.url(`/${queue}`), '--name', 'ACME'],
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

  it('applies a folder of event types, publishes an example of one, and writes what subscribers and producers read', async () => {
    const queue = `events-${randomUUID()}`;
    const [created, closed] = [`${queue}.created`, `${queue}.closed`];
    const folder = await mkdtemp(path.join(tmpdir(), 'posthaste-event-types-'));
    await writeFile(path.join(folder, `${created}.yaml`), CREATED_YAML);
    await writeFile(path.join(folder, 'closed.json'), JSON.stringify({ name: closed, queues: [queue] }));
    const apply = ['event-types', 'apply', folder, '--yes'];
    expect(await posthaste(...apply, '--dry-run')).toMatchObject([
      { created: [closed, created], dryRun: true },
    ]);
    expect(await posthaste(...apply)).toMatchObject([
      { created: [closed, created], kept: expect.any(Array) as unknown },
    ]);
    expect(await posthaste(...apply)).toMatchObject([{ created: [], replaced: [], unchanged: 2 }]);
    await rm(folder, { recursive: true });
    const names = z.array(z.object({ name: z.string() })).parse(await posthaste('event-types', 'list'));
    expect(names.map(({ name }) => name)).toEqual(expect.arrayContaining([closed, created]));

    await posthaste('queue', 'create', queue);
    const subscribe = ['subscription', 'create', queue, receiver.url(`/${queue}`), '--event-type', created];
    const [subscribed] = await posthaste(...subscribe, '--event-type', `${queue}.lost`);
    expect(subscribed).toMatchObject({ warnings: [{ field: 'options.event_types[1]' }] });
    await posthaste('publish', queue, '--example', created);
    const [request] = await receiver.waitFor(`/${queue}`, 1);
    expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({
      type: created,
      data: { total: 1250 },
    });

    const types = await onDeployment('event-types', 'types');
    expect(types.stdout).toContain(`  "${created}": {\n    "total": number;\n  };\n`);
    const exported = await onDeployment('event-types', 'export');
    expect(JSON.parse(exported.stdout)).toHaveProperty(['webhooks', closed]);
    for (const name of [created, closed]) await posthaste('event-types', 'delete', name, '--yes');
    await expect(posthaste('event-types', 'show', created)).rejects.toThrow('404');
  });

  it('sends a message once there is a subscription, which its queue did not have', async () => {
    const queue = `early-${randomUUID()}`;
    const publish = ['publish', queue, '--create', '--id', 'early', '--data', '1'];
    expect(await posthaste(...publish)).toEqual([{ id: 'early', noSubscription: true }]);
    await eventually('its record', () => deliveriesOf(queue, 'early'));
    await posthaste('subscription', 'create', queue, receiver.url(`/${queue}`), '--name', 'ACME');
    const [sent] = await posthaste('send', queue, 'early', '--to', 'ACME', '--wait');
    expect(sent).toMatchObject({ status: 'delivered' });
  });

  it('finds a message of a deleted queue, and does not count it as published before to a new queue of the name', async () => {
    const queue = `again-${randomUUID()}`;
    const publish = () => posthaste('publish', queue, '--id', 'same', '--data', '1');
    for (const times of [1, 2]) {
      await posthaste('queue', 'create', queue);
      await posthaste('subscription', 'create', queue, receiver.url(`/${queue}`));
      expect(await publish()).toEqual([{ id: 'same' }]);
      await receiver.waitFor(`/${queue}`, times);
      if (times > 1) continue;
      await posthaste('queue', 'delete', queue, '--yes');
      const found = { kind: 'message', queue, id: 'same', queueDeleted: true };
      expect(await posthaste('find', 'same', '--queue', queue)).toMatchObject([found]);
      expect(await posthaste('find', '1h', '--queue', queue)).toMatchObject([{ queue, id: 'same' }]);
    }
    expect(await publish()).toEqual([{ id: 'same', acceptedAt: expect.any(String) as unknown }]);
  });

  it('pauses a queue, shows what waits, and resumes it', async () => {
    const queue = `paused-${randomUUID()}`;
    receiver.script(`/${queue}`, [{ status: 200 }]);
    await posthaste('subscription', 'create', queue, receiver.url(`/${queue}`), '--name', 'ACME');
    const [stopped] = await posthaste('queue', 'pause', queue, '--for', '1h');
    expect(stopped).toMatchObject({ paused: { by: 'queue' } });
    expect(stopped).toHaveProperty('paused.until');
    expect(stopped).toHaveProperty('requests_end_within_seconds');

    await posthaste('publish', queue, '--id', 'held', '--data', '1');
    await eventually('a waiting delivery', async () => {
      const [listed] = await posthaste('deliveries', 'list', queue);
      return z.object({ waiting: z.literal('paused') }).safeParse(listed).data;
    });
    const [explained] = await posthaste('explain', queue, 'held', 'ACME');
    expect(explained).toMatchObject({ verdict: 'paused' });
    const shown = await onDeployment('subscription', 'show', queue, 'ACME');
    expect(shown.stdout).toMatch(/\nWaiting +1 delivery, the oldest accepted at /);
    expect(receiver.received(`/${queue}`)).toEqual([]);

    await posthaste('queue', 'resume', queue, '--per-second', '20');
    expect(await finishedDelivery(queue, 'held')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
    });
    expect(receiver.received(`/${queue}`)).toHaveLength(1);
  });

  it('reports the deployment, its API and its tables as ok', async () => {
    const checks = ['deployment', 'API', 'credentials', 'subscriptions table', 'deliveries table'];
    const doctor = spawn(
      projectNode,
      ['cli/posthaste.mjs', 'doctor', '--deployment', 'Posthaste', '--json'],
      {
        cwd: projectRoot,
        env: commandEnvironment,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
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
