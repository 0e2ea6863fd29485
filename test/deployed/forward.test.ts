import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { plainEnvironment } from '../../local/local-aws.ts';
import { callApi, finishedDelivery, putQueue } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { startReceiver } from '../support/receiver.ts';
import { publish } from '../support/sqs-messages.ts';

const createdSchema = z.object({ subscription_id: z.string(), secret: z.string() });
const tokenSchema = z.object({ token: z.string() });

it('forwards to a local program through an outage of it, without AWS credentials', async () => {
  const queue = `forward-${randomUUID()}`;
  await putQueue(queue, { ...NO_RETRIES, minimum_delay_retries: 20, minimum_delay: 1 });
  const subscriptions = `/v2/queues/${queue}/subscriptions`;
  const created = await (await callApi('POST', subscriptions, { subscriber: 'pull:' })).json();
  const { subscription_id: id, secret } = createdSchema.parse(created);
  const made = await (await callApi('POST', `${subscriptions}/${id}/pull-token`, {})).json();

  const target = await startReceiver();
  const args = [
    '--to',
    target.url('/hook'),
    '--url',
    deployment.endpoints.apiUrl,
    '--ceiling',
    '1',
    '--json',
  ];
  const command = spawn(projectNode, ['cli/posthaste.mjs', 'forward', queue, id, ...args], {
    cwd: projectRoot,
    env: { ...plainEnvironment(), POSTHASTE_PULL_TOKEN: tokenSchema.parse(made).token },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: command.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<unknown> => JSON.parse(z.string().parse((await lines.next()).value));
  try {
    await publish({ queue, id: 'before', data: { text: 'é' } });
    expect(await nextLine()).toMatchObject({ messageId: 'before', status: 200, outcome: 'acked' });

    await target.close();
    await publish({ queue, id: 'during', data: { text: 'é' } });
    expect(await nextLine()).toMatchObject({ messageId: 'during', attempt: 1, outcome: 'nacked' });

    const restarted = await startReceiver({ port: Number(new URL(target.url()).port) });
    const [request] = await restarted.waitFor('/hook', 1);
    const headers = z.record(z.string(), z.string()).parse(request?.headers);
    new Webhook(secret).verify(request?.body ?? '', headers);
    const { status, attempts } = await finishedDelivery(queue, 'during');
    await restarted.close();
    expect(status).toBe('delivered');
    expect(attempts[0]?.error).toContain('nacked: connect ECONNREFUSED');
  } finally {
    command.kill('SIGINT');
  }
  expect(await once(command, 'exit')).toEqual([0, null]);
});
