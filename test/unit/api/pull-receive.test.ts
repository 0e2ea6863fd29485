import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { type Answer, CALLER, faultOf } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';

describe('receiving', () => {
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
      const { body } = await call('POST', '/v2/queues/strict/subscriptions', {
        subscriber: 'pull:warehouse',
      });
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
});

describe('a pull token', () => {
  const HOUR = 3_600_000;

  const HELD = '/v2/pull/orders/subscription-1';

  let world: PullWorld;

  beforeEach(async () => {
    world = await pullWorld();
  });

  const newToken = async (body: object = {}, path = PATH): Promise<string> => {
    const { body: answer } = await world.call('POST', `${path}/pull-token`, body);
    return z.object({ token: z.string() }).parse(answer).token;
  };

  const receiveBy = (token: string | undefined, path = HELD): Promise<Answer> =>
    world.call(
      'POST',
      `${path}/receive`,
      {},
      token === undefined ? {} : { authorization: `Bearer ${token}` },
    );

  it('lets its holder receive and answer, without any other authorisation', async () => {
    await world.publish({ id: 'good' });
    await world.publish({ id: 'bad' });
    const authorization = `Bearer ${await newToken()}`;
    const { body } = await world.call('POST', `${HELD}/receive`, {}, { authorization });
    const [good, bad] = z
      .object({ deliveries: z.array(z.object({ receipt: z.string() })) })
      .parse(body).deliveries;
    const answers = [
      await world.call('POST', `${HELD}/ack`, { receipt: good?.receipt }, { authorization }),
      await world.call('POST', `${HELD}/nack`, { receipt: bad?.receipt, error: 'no' }, { authorization }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect((await world.delivery('subscription-1', 'good')).status).toBe('delivered');
    expect((await world.delivery('subscription-1', 'bad')).status).toBe('retrying');
  });

  it('is random, and stored only as a hash', async () => {
    const [one, two] = [await newToken(), await newToken()];
    expect(one).toMatch(/^phpull_[A-Za-z0-9_-]{43}$/);
    expect(two).not.toBe(one);
    const stored = await world.subscriptions.findSubscription('orders', 'subscription-1');
    const shown = [await world.call('GET', PATH), await world.call('GET', '/v2/queues/orders/export')];
    const output = inspect([stored, shown, world.api.changes, world.journal.facts], { depth: 20 });
    expect(output).not.toContain(one.slice('phpull_'.length));
    const { tokens = [] } = stored?.destination.kind === 'pull' ? stored.destination : {};
    const hashes = tokens.map(({ tokenHash }) => tokenHash);
    expect(hashes).toHaveLength(2);
    expect(inspect([shown, world.api.changes], { depth: 20 })).not.toContain(hashes[0]);
    expect(world.api.changes.at(-1)).toMatchObject({ change: 'pull_token_rotated' });
  });

  it('is valid until the exact end of its grace period once there is another', async () => {
    const old = await newToken();
    const current = await newToken({ graceSeconds: 3600 });
    await world.later(HOUR - 1);
    expect([(await receiveBy(old)).status, (await receiveBy(current)).status]).toEqual([200, 200]);
    await world.later(1);
    expect([(await receiveBy(old)).status, (await receiveBy(current)).status]).toEqual([401, 200]);
    await newToken({ graceSeconds: 0 });
    expect((await receiveBy(current)).status).toBe(401);
  });

  it('is one of five at most', async () => {
    for (let count = 0; count < 5; count += 1) await newToken();
    expect(await world.call('POST', `${PATH}/pull-token`)).toMatchObject({
      status: 409,
      body: faultOf('conflict'),
    });
  });

  it('is refused alike for another subscription, a deleted one, one that does not exist, and if it is wrong', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'other', subscriber: 'pull:other' }));
    const token = await newToken();
    const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`;
    const refused = [
      await receiveBy(token, '/v2/pull/orders/other'),
      await receiveBy(token, '/v2/pull/orders/missing'),
      await receiveBy(token, '/v2/pull/missing/subscription-1'),
      await receiveBy(token, '/v2/pull/a%20b/subscription-1'),
      await receiveBy(wrong),
      await receiveBy('phpull_'),
      await receiveBy(''),
      await receiveBy(undefined),
      await world.call('POST', `${HELD}/receive`, {}, { authorization: `Basic ${token}` }),
    ];
    await world.call('DELETE', PATH);
    refused.push(await receiveBy(token));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401));
    expect(refused[0]?.headers.get('www-authenticate')).toBe('Bearer');
    expect(new Set(refused.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it.each(['receive', 'ack', 'nack'])(
    'is checked before the body of a stranger is read: %s',
    async (route) => {
      const { status } = await world.call('POST', `${HELD}/${route}`, '{', { authorization: 'Bearer guess' });
      expect(status).toBe(401);
    },
  );

  it('reads no table for a text that cannot be one', async () => {
    const { registry } = world.api.dependencies;
    let reads = 0;
    const read = registry.findSubscription.bind(registry);
    registry.findSubscription = (...names) => {
      reads += 1;
      return read(...names);
    };
    await receiveBy('guess');
    expect(reads).toBe(0);
  });

  const countReads = () => {
    const { registry } = world.api.dependencies;
    const reads: string[] = [];
    const read = registry.findSubscription.bind(registry);
    registry.findSubscription = (queue, id) => {
      reads.push(id);
      return read(queue, id);
    };
    return reads;
  };

  const GUESS = `phpull_${'x'.repeat(43)}`;

  it('that is wrong reads its subscription once a second, however often strangers guess', async () => {
    const token = await newToken();
    const reads = countReads();
    for (let guess = 0; guess < 20; guess += 1) expect((await receiveBy(GUESS)).status).toBe(401);
    expect(reads).toHaveLength(1);
    expect((await receiveBy(token)).status).toBe(200);
    expect(reads).toHaveLength(2);
    await world.later(1_001);
    await receiveBy(GUESS);
    expect(reads).toHaveLength(3);
  });

  it('that is new is accepted at once, and a second later while strangers guess', async () => {
    await newToken();
    await receiveBy(await newToken());
    const token = await newToken({ graceSeconds: 0 });
    expect((await receiveBy(token)).status).toBe(200);
    await receiveBy(GUESS);
    const next = await newToken();
    expect((await receiveBy(next)).status).toBe(401);
    await world.later(1_001);
    expect((await receiveBy(next)).status).toBe(200);
  });

  it('is named in the audit trail by the beginning of its hash, with what it received and answered', async () => {
    await world.publish({ id: 'good' });
    await world.publish({ id: 'bad' });
    const authorization = `Bearer ${await newToken()}`;
    const { changes } = world.api;
    const before = changes.length;
    const { body } = await world.call('POST', `${HELD}/receive`, {}, { authorization });
    const [good, bad] = z
      .object({ deliveries: z.array(z.object({ receipt: z.string() })) })
      .parse(body).deliveries;
    await world.call('POST', `${HELD}/receive`, {}, { authorization });
    await world.call('POST', `${HELD}/ack`, { receipt: good?.receipt }, { authorization });
    await world.call('POST', `${PATH}/nack`, { receipt: bad?.receipt, error: 'no' });

    const key = { queue: 'orders', subscriptionId: 'subscription-1' };
    const principal = expect.stringMatching(/^pull token [A-Za-z0-9_-]{12}$/) as unknown;
    expect(changes.slice(before)).toEqual([
      { ...CALLER, principal, change: 'deliveries_received', ...key, deliveries: 2 },
      { ...CALLER, principal, change: 'delivery_acknowledged', ...key, messageId: 'good', attempt: 1 },
      { ...CALLER, change: 'delivery_refused', ...key, messageId: 'bad', attempt: 1 },
    ]);
  });

  it('cannot answer for a delivery of another subscription', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'other', subscriber: 'pull:other' }));
    await world.publish();
    const { receipt } = await world.receiveOne();
    const token = await newToken({}, PATH.replace('subscription-1', 'other'));
    const headers = { authorization: `Bearer ${token}` };
    expect(await world.call('POST', '/v2/pull/orders/other/ack', { receipt }, headers)).toMatchObject({
      status: 409,
    });
    expect((await world.delivery()).status).toBe('pending');
  });

  it('is given to no subscription that is called', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'called' }));
    expect(await world.call('POST', `${PATH.replace('subscription-1', 'called')}/pull-token`)).toMatchObject({
      status: 409,
    });
  });
});
