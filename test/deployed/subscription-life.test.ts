import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it, inject } from 'vitest';
import { verifyWebhook } from '../../client/verify.ts';
import { healthSchema } from '../../functions/api/service/routes.ts';
import { subscriptionViewSchema } from '../../shared/wire/views/subscription.ts';
import {
  answerOf,
  callApi,
  type Credentials,
  deliveriesOf,
  finishedDelivery,
  subscribe,
} from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { userWith } from '../support/iam-user.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import { onDeployment } from '../support/deployed-command.ts';
import { logLines } from '../support/log-lines.ts';
import { spellingsOf } from '../support/planted-secrets.ts';
import { publish } from '../support/sqs-messages.ts';

const { apiUrl } = deployment.endpoints;

const receiver = await receiverOfTests();

/** The received requests with their bodies as text. */
const received = (path: string) =>
  receiver.received(path).map(({ headers, body }) => ({ headers, body: body.toString() }));

const post = async (queue: string, body: unknown): Promise<string> => {
  const answer = await answerOf('POST', `/v2/queues/${queue}/messages`, { messages: [{ body }] });
  const [id = ''] = z.object({ ids: z.array(z.string()) }).parse(answer).ids;
  return id;
};

describe('the lifecycle of a subscription', () => {
  it('includes a change of URL, disabling, enabling and deletion, each effective at once', async () => {
    const queue = `life-${randomUUID()}`;
    const [first, second] = [receiver.url('/life-1'), receiver.url('/life-2')];
    const id = await subscribe(queue, first);
    const path = `/v2/queues/${queue}/subscriptions/${id}`;

    await answerOf('PATCH', path, { subscriber: second, options: { raw_delivery: true } });
    await finishedDelivery(queue, await post(queue, 'moved'));
    expect(received('/life-1')).toEqual([]);
    expect(received('/life-2').map(({ body }) => body)).toEqual(['"moved"']);

    await answerOf('POST', `${path}/disable`);
    const missed = await finishedDelivery(queue, await post(queue, 'missed'));
    expect(missed).toMatchObject({ status: 'cancelled', reason: 'disabled' });

    const enabled = subscriptionViewSchema.parse(await answerOf('POST', `${path}/enable`));
    expect(enabled).not.toHaveProperty('disabled');
    await finishedDelivery(queue, await post(queue, 'back'));

    expect((await callApi('DELETE', path)).status).toBe(204);
    expect((await callApi('GET', path)).status).toBe(404);
    expect(await subscribe(queue, second)).not.toBe(id);
    expect(received('/life-2').map(({ body }) => body)).toEqual(['"moved"', '"back"']);
  });

  it('starts with a confirmation by the subscriber where the queue requires it', async () => {
    const queue = `confirm-${randomUUID()}`;
    await answerOf('PUT', `/v2/queues/${queue}`, { _confirm_subscriptions: true });
    const id = await subscribe(queue, receiver.url('/confirm'));
    const path = `/v2/queues/${queue}/subscriptions/${id}`;
    const early = await post(queue, 'early');

    const asked = await eventually('the request for confirmation', () =>
      Promise.resolve(received('/confirm')[0]),
    );
    const { type, data } = z
      .object({ type: z.string(), data: z.object({ confirmUrl: z.url() }) })
      .parse(JSON.parse(asked.body));
    expect(type).toBe('posthaste.subscription_confirmation');
    await eventually('the record of the early message', () => deliveriesOf(queue, early));
    expect(await answerOf('GET', path)).toMatchObject({ confirmed: false });

    // The link needs no signature; with a wrong token it returns 404.
    expect((await fetch(data.confirmUrl.replace(/token=.*/, 'token=guessed'))).status).toBe(404);
    const confirmed = await fetch(data.confirmUrl);
    expect([confirmed.status, await confirmed.json()]).toEqual([200, { confirmed: true }]);
    expect(await answerOf('GET', path)).toMatchObject({ confirmed: true });

    await finishedDelivery(queue, await post(queue, 'late'));
    const bodies = received('/confirm')
      .slice(1)
      .map(({ body }) => JSON.parse(body) as unknown);
    expect(bodies).toEqual([expect.objectContaining({ data: 'late' })]);
    expect(await deliveriesOf(queue, early)).toEqual([]);
  });

  it('can be exported and imported into another queue, with its signing secret', async () => {
    const [from, to] = [`from-${randomUUID()}`, `to-${randomUUID()}`];
    const options = { post_headers: { authorization: 'Bearer s3cret' } };
    const id = await subscribe(from, receiver.url('/carried'), options);
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const rotate = `/v2/queues/${from}/subscriptions/${id}/secret/rotate`;
    await answerOf('POST', rotate, { secret, graceSeconds: 0 });
    const line = await answerOf('POST', `/v2/credentials/${from}?secrets=true`);
    expect(await answerOf('POST', `/v2/queues/${to}/import`, line)).toMatchObject({
      imported: 1,
      failed: [],
    });
    await finishedDelivery(to, await post(to, 'carried'));
    const [{ body, headers } = { body: '', headers: {} }] = received('/carried');
    expect(headers.authorization).toBe('Bearer s3cret');
    expect(verifyWebhook(body, headers, secret)).toHaveProperty('body', body);
  });
});

describe('without a signature, a caller', () => {
  it('can ping the API', async () => {
    expect((await fetch(`${apiUrl}/v2/ping`)).status).toBe(204);
  });

  it.each([
    ['GET', '/v2'],
    ['GET', '/v2/health'],
    ['POST', '/v2/ping'],
    ['GET', '/v2/queues'],
    ['GET', '/v2/queues/a/export'],
    ['PUT', '/v2/queues/a/subscriptions/b/confirm'],
    ['GET', '/v2/queues/a/subscriptions/b'],
    ['POST', '/v2/queues/a/subscriptions/b/enable'],
  ])('is refused: %s %s', async (method, path) => {
    expect((await fetch(`${apiUrl}${path}`, { method })).status).toBe(403);
  });

  it.each(['a%2F..%2Fb/subscriptions/c', 'a/subscriptions/c%2F..%2Fd', 'a%2Fmessages/subscriptions/c'])(
    'is refused for a path that decodes to another path: %s',
    async (path) => {
      const { status } = await fetch(`${apiUrl}/v2/queues/${path}/confirm?token=x`);
      expect([403, 404]).toContain(status);
    },
  );
});

describe('a caller with a signature', () => {
  const mayCall = { Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' } as const;

  it.each<[does: string, status: number, by: () => Promise<Credentials>]>([
    ['is accepted with execute-api:Invoke', 200, () => userWith(mayCall)],
    ['is refused without permissions', 403, () => userWith()],
    [
      'is refused if it signs with a wrong secret',
      403,
      async () => ({ ...(await userWith(mayCall)), secretAccessKey: 'guessed' }),
    ],
  ])('%s', async (_does, status, by) => {
    expect((await callApi('GET', '/v2/queues', undefined, await by())).status).toBe(status);
  });
});

describe('the health of the deployment', () => {
  it('is ok, with the count of every queue', async () => {
    const health = healthSchema.parse(await answerOf('GET', '/v2/health'));
    expect(health.status).toBe('ok');
    expect(Object.keys(health.queues ?? {}).sort()).toEqual([
      'delivery',
      'deliveryDeadLetters',
      'ingress',
      'ingressDeadLetters',
      'operation',
      'operationDeadLetters',
      'retry',
      'schedulerDeadLetters',
      'undeliverable',
    ]);
  });
});

/** Makes the command send two requests: the API accepts 500 lines in one. */
const COUNT = 501;
/** Lines whose subscriptions get the message. */
const LISTENING = [0, 499, 500];

const resultSchema = z.object({
  line: z.number(),
  result: z.string(),
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
});

const importLines = async (queue: string, lines: readonly unknown[]) => {
  const input = join(inject('folder'), `${queue}-lines`);
  const output = join(inject('folder'), `${queue}-results`);
  writeFileSync(input, lines.map((line) => JSON.stringify(line)).join('\n'));
  const { status, stderr } = await onDeployment('subscription', 'import', queue, input, '--output', output);
  expect(status, stderr).toBe(0);
  const results = readFileSync(output, 'utf8').trim().split('\n');
  rmSync(output);
  return results.map((line) => resultSchema.parse(JSON.parse(line)));
};

describe('an import of hundreds of lines', () => {
  it('returns the id and signing secret of each line, and the same ids when it is repeated', async () => {
    const queue = `import-${randomUUID()}`;
    const lines = Array.from({ length: COUNT }, (_, index) => ({
      subscriber: receiver.url(`/${queue}/${index}`),
      ...(LISTENING.includes(index) ? {} : { options: { event_types: ['other'] } }),
    }));
    const imported = await importLines(queue, lines);
    expect(imported.map(({ line, result }) => ({ line, result }))).toEqual(
      lines.map((_, index) => ({ line: index + 1, result: 'imported' })),
    );
    expect(new Set(imported.map(({ secret }) => secret)).size).toBe(COUNT);

    await publish({ queue, type: 'wanted', data: 1 });
    for (const index of LISTENING) {
      const [request] = await receiver.waitFor(`/${queue}/${index}`, 1);
      const headers = z.record(z.string(), z.string()).parse(request?.headers);
      expect(() =>
        new Webhook(imported[index]?.secret ?? '').verify(request?.body ?? '', headers),
      ).not.toThrow();
    }

    expect(await importLines(queue, lines)).toEqual(
      imported.map(({ line, subscription_id }) => ({ line, result: 'unchanged', subscription_id })),
    );

    const logged = (await logLines([deployment.endpoints.functions.api]))
      .filter((line) => line.includes(queue))
      .join('\n');
    expect(logged).toContain(imported.at(-1)?.subscription_id);
    for (const { secret = '' } of imported.slice(0, 50)) {
      const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64');
      expect(spellingsOf(bytes).filter((spelling) => logged.includes(spelling))).toEqual([]);
    }
  });
});
