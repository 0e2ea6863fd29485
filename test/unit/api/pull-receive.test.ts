import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { faultOf } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';

const MINUTE = 60_000;

let world: PullWorld;

beforeEach(async () => {
  world = await pullWorld();
});

describe('a receive', () => {
  it.each([
    { max: 0 },
    { max: 101 },
    { max: 1.5 },
    { lease_seconds: 4 },
    { lease_seconds: 3601 },
    { more: 1 },
  ])('refuses %j', async (body) => {
    expect(await world.call('POST', `${PATH}/receive`, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', Object.keys(body).join('')),
    });
  });

  it('takes the defaults without a body', async () => {
    await world.publish();
    const answer = await world.call('POST', `${PATH}/receive`);
    const leaseUntil = new Date(world.clock.now() + MINUTE).toISOString();
    expect(answer).toMatchObject({ status: 200, body: { deliveries: [{ leaseUntil }] } });
  });

  it('gives the headers of a push without those that carry credentials', async () => {
    const headers = {
      authorization: 'Bearer s3cret',
      'x-api-key': 's3cret',
      cookie: 's=s3cret',
      'x-forward': 'Basic s3cret',
      'x-tenant': 'acme',
    };
    const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    world = await pullWorld({ options: { post_headers: headers } });
    await world.publish({ trace });
    expect((await world.receiveOne()).headers).toEqual({
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'user-agent': expect.any(String) as unknown,
      'webhook-id': 'message-1',
      'webhook-signature': expect.stringMatching(/^v1,/) as unknown,
      'webhook-timestamp': expect.any(String) as unknown,
      'x-tenant': 'acme',
      ...trace,
    });
  });

  it('gives as many large bodies as fit into an answer, and leaves the others to wait', async () => {
    const data = JSON.stringify('x'.repeat(1_000_000));
    for (let index = 0; index < 7; index += 1) await world.publish({ id: `large-${index}`, data });
    const first = await world.receive();
    expect(first.map(({ messageId }) => messageId)).toEqual(['large-0', 'large-1', 'large-2', 'large-3']);
    expect(await world.receive()).toHaveLength(3);
  });

  it('gives what it could lease if the table fails for the others, which come later', async () => {
    for (const id of ['good', 'bad']) await world.publish({ id });
    const write = world.deliveries.write.bind(world.deliveries);
    let isDown = true;
    world.deliveries.write = (transition) =>
      isDown && transition.key.messageId === 'bad'
        ? Promise.reject(new Error('the table is throttled'))
        : write(transition);
    expect((await world.receive()).map(({ messageId }) => messageId)).toEqual(['good']);
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({ status: 500 });
    isDown = false;
    expect(await world.receiveOne()).toMatchObject({ messageId: 'bad', attempt: 1 });
  });

  it('never gives the data of a later message with the same id', async () => {
    await world.publish();
    const find = world.messageRecords.find.bind(world.messageRecords);
    world.messageRecords.find = async (key) => {
      const record = await find(key);
      return record && { ...record, acceptedAt: record.acceptedAt + 1 };
    };
    expect(await world.receive()).toEqual([]);
    expect([...world.deliveries.records.values()]).toMatchObject([
      { status: 'cancelled', reason: 'body_missing' },
    ]);
  });

  it('takes no lease while the secrets cannot be opened', async () => {
    await world.publish();
    world.secretOpener.outage = new Error('KMS is down');
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({ status: 500 });
    world.secretOpener.outage = undefined;
    expect(await world.receiveOne()).toMatchObject({ attempt: 1 });
  });

  it('is refused while the subscription is disabled; what waited is received after that', async () => {
    await world.publish();
    await world.call('POST', `${PATH}/disable`);
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({
      status: 409,
      body: faultOf('inactive'),
    });
    await world.call('POST', `${PATH}/enable`);
    await world.receiveOne();
  });

  it('is refused for a subscription that is called, and for none', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'called' }));
    const path = (id: string) => `${PATH.replace('subscription-1', id)}/receive`;
    expect(await world.call('POST', path('called'), {})).toMatchObject({ status: 409 });
    expect(await world.call('POST', path('missing'), {})).toMatchObject({ status: 404 });
  });

  it('is no answer to another subscription of the queue', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'other', subscriber: 'pull:other' }));
    await world.publish();
    const path = PATH.replace('subscription-1', 'other');
    const answer = await world.call('POST', `${path}/receive`, { max: 100 });
    expect(answer.body).toMatchObject({ deliveries: [{ messageId: 'message-1' }] });
    expect(await world.receive()).toHaveLength(1);
  });
});

describe('a pull subscription', () => {
  it('needs no confirmation, and cannot become one that is called', async () => {
    const { call } = world;
    await call('PUT', '/v2/queues/strict', { _confirm_subscriptions: true });
    const { body } = await call('POST', '/v2/queues/strict/subscriptions', { subscriber: 'pull:warehouse' });
    const path = `/v2/queues/strict/subscriptions/${z.object({ subscription_id: z.string() }).parse(body).subscription_id}`;
    expect((await call('GET', path)).body).toMatchObject({ subscriber: 'pull:warehouse', confirmed: true });
    expect(world.api.changes.at(-1)).toMatchObject({ after: { subscriber: 'pull:warehouse' } });
    expect(await call('PATCH', path, { subscriber: 'https://a.test/' })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'subscriber'),
    });
    expect((await call('PATCH', path, { subscriber: 'pull:stock' })).body).toMatchObject({
      subscriber: 'pull:stock',
      confirmed: true,
    });
  });

  it.each(['pull', 'pull://a', 'pull:a b', `pull:${'x'.repeat(65)}`, 'PULL:'])(
    'is not named %s',
    async (subscriber) => {
      expect(await world.call('POST', '/v2/queues/orders/subscriptions', { subscriber })).toMatchObject({
        status: 400,
        body: faultOf('invalid_request', 'subscriber'),
      });
    },
  );

  it('shares a chunk with others, which are delivered as before', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'called' }));
    await world.publish();
    await world.clock.run();
    expect((await world.delivery('called')).status).toBe('delivered');
    await world.ack(await world.receiveOne());
    expect((await world.delivery()).attempts).toHaveLength(1);
  });

  it('ignores max_per_second: its subscriber sets the pace', async () => {
    world = await pullWorld({ options: { max_per_second: 0.01, _retry_policy: aBarePolicy() } });
    for (const id of ['one', 'two']) await world.publish({ id });
    expect(await world.receive()).toHaveLength(2);
  });
});
