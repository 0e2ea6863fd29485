import { randomUUID } from 'node:crypto';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  operatedPull,
  pullByToken,
  type ReceivedDelivery,
} from '../../cli/commands/forward/forward-deliveries.ts';
import { toItemKey } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { answerOf, finishedDelivery, putQueue, callApi } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment, invoke } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { publish } from '../support/sqs-messages.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { plainEnvironment } from '../../local/local-aws.ts';
import { startReceiver } from '../support/receiver.ts';

const { apiUrl, deliveriesTable, functions } = deployment.endpoints;

const MESSAGES = ['m-1', 'm-2', 'm-3'];

const queue = `pull-${randomUUID()}`;
let subscriptionId: string;
let secret: string;
let token: string;

/** Calls a route as the subscriber, without AWS credentials. */
const bySubscriber = (step: string, body: object, bearer = token, id = subscriptionId): Promise<Response> =>
  fetch(`${apiUrl}/v2/pull/${queue}/${id}/${step}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Receives until all messages were received, each once. */
const receiveAll = async (receive: () => Promise<unknown>): Promise<ReceivedDelivery[]> => {
  const all: ReceivedDelivery[] = [];
  return eventually('all messages are received', async () => {
    all.push(...operatedPull.receive.schema.parse(await receive()).deliveries);
    return all.length < MESSAGES.length ? undefined : all;
  });
};

const idsOf = (received: readonly ReceivedDelivery[]): string[] =>
  received.map(({ messageId }) => messageId).toSorted();

/** Moves the end of a lease into the past. */
const endLease = async ({ messageId }: ReceivedDelivery): Promise<void> => {
  await deployment.dynamo.send(
    new UpdateCommand({
      TableName: deliveriesTable,
      Key: toItemKey({ queue, messageId, subscriptionId, bucket: 0 }),
      UpdateExpression: 'SET overdueAt = :past, lease.#until = :past',
      ExpressionAttributeNames: { '#until': 'until' },
      ExpressionAttributeValues: { ':past': Date.now() - 60_000 },
    }),
  );
};

beforeAll(async () => {
  await putQueue(queue, { ...NO_RETRIES, retries_with_no_delay: 1 });
  const subscriptions = `/v2/queues/${queue}/subscriptions`;
  const subscribed = await answerOf('POST', subscriptions, { subscriber: 'pull:' });
  ({ subscription_id: subscriptionId, secret } = z
    .object({ subscription_id: z.string(), secret: z.string() })
    .parse(subscribed));
  ({ token } = z
    .object({ token: z.string() })
    .parse(await answerOf('POST', `${subscriptions}/${subscriptionId}/pull-token`, {})));
});

describe('a pull subscription on the deployed system', () => {
  it('gives everything again, once, after a consumer was killed with leases out', async () => {
    for (const id of MESSAGES) await publish({ queue, id, data: { text: 'é' } });
    const lost = await receiveAll(async () =>
      (await bySubscriber('receive', { lease_seconds: 3600 })).json(),
    );
    expect(idsOf(lost)).toEqual(MESSAGES);
    await Promise.all(lost.map(endLease));
    await invoke(functions.reconcile);

    const operated = `/v2/queues/${queue}/subscriptions/${subscriptionId}`;
    const again = await receiveAll(() => answerOf('POST', `${operated}/receive`, { max: 100 }));
    expect(again.map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
    expect(idsOf(again)).toEqual(MESSAGES);
    for (const { headers, body } of again) new Webhook(secret).verify(body, headers);

    const [dead] = lost;
    expect((await bySubscriber('ack', { receipt: dead?.receipt })).status).toBe(409);
    const statuses = again.map(async ({ receipt }) => (await bySubscriber('ack', { receipt })).status);
    expect(await Promise.all(statuses)).toEqual([204, 204, 204]);
    for (const id of MESSAGES)
      expect(await finishedDelivery(queue, id)).toMatchObject({
        status: 'delivered',
        attempts: [{ outcome: 'failed', error: 'lease_expired' }, { outcome: 'delivered' }],
      });
  });

  it('is closed to other tokens', async () => {
    const wrong = await bySubscriber('receive', {}, `phpull_${'x'.repeat(43)}`);
    const other = await bySubscriber('receive', {}, token, randomUUID());
    expect([wrong.status, other.status]).toEqual([401, 401]);
  });

  it('gives a large body, which is in the bucket', async () => {
    const text = 'x'.repeat(200_000);
    await publish({ queue, id: 'large', data: text });
    const [received] = await eventually('the large message', async () => {
      const answer = await bySubscriber('receive', { max: 100 });
      const { deliveries } = pullByToken.receive.schema.parse(await answer.json());
      const large = deliveries.filter(({ messageId }) => messageId === 'large');
      return large.length > 0 ? large : undefined;
    });
    expect(JSON.parse(received?.body ?? '')).toMatchObject({ data: text });
    expect((await bySubscriber('ack', { receipt: received?.receipt })).status).toBe(204);
  });
});

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
