import { beforeEach, describe, expect, it } from 'vitest';
import { type Auth, redactedAuth } from '../../../shared/domain/subscription/auth.ts';
import { type ClientTls, RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import {
  aBarePolicy,
  aMessage,
  anOAuth2Auth,
  aQueue,
  aSubscription,
  SUBSCRIBER_URL,
} from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { answered } from '../../support/delivery-builders.ts';

const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };
const URL = SUBSCRIBER_URL;
let world: PipelineWorld;
/** The third parameter of each request, and the time that it may take. */
let sent: { timeoutMs: number; tls: ClientTls | undefined }[];

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  sent = [];
  const send = world.subscriber.post.bind(world.subscriber);
  world.subscriber.post = (request, timeoutMs, options) => {
    sent.push({ timeoutMs, tls: options?.tls });
    return send(request, timeoutMs);
  };
});

const deliver = async (auth: Auth = anOAuth2Auth(), policy = aBarePolicy()) => {
  const sealed = await world.secretOpener.sealAuth(OWNER, auth);
  await world.subscriptions.addSubscription(
    aSubscription({ options: { _retry_policy: policy }, auth: { shown: redactedAuth(auth), sealed, at: 1 } }),
  );
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();
  return world.delivery();
};

const requests = () =>
  world.subscriber.seen.map(({ request: { headers } }) => [headers['webhook-id'], headers['authorization']]);

const withoutToken = (detail: string) => ({ kind: 'unanswered', error: 'auth_failed', detail });

describe('an attempt with an access token', () => {
  it('carries the token', async () => {
    expect(await deliver()).toMatchObject({ status: 'delivered' });
    expect(requests()).toEqual([['message-1', 'Bearer token-1']]);
  });

  it('has failed without a request if there is no token, and is retried', async () => {
    world.accessTokens.outage = 'invalid_client';
    const retry = deliver(anOAuth2Auth(), aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 60 }));
    world.clock.at(world.clock.now() + 30_000, () => (world.accessTokens.outage = undefined));
    const { attempts } = await retry;
    expect(attempts).toMatchObject([
      { outcome: 'failed', result: withoutToken('invalid_client') },
      { outcome: 'delivered' },
    ]);
    expect(requests()).toHaveLength(1);
  });

  it('is no attempt if the token could not be asked for', async () => {
    const tokenFor = world.accessTokens.tokenFor.bind(world.accessTokens);
    let calls = 0;
    world.accessTokens.tokenFor = (...args) => {
      calls += 1;
      return calls === 1 ? Promise.reject(new RequestNotSentError('EMFILE')) : tokenFor(...args);
    };
    expect(await deliver()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }], lost: 0 });
  });

  it('renews a token that the subscriber refuses, and sends the request again', async () => {
    world.subscriber.script(URL, [status(401, { takesMs: 2_000 }), status(200)]);
    expect(await deliver()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'delivered', result: answered(200) }],
    });
    expect(requests()).toEqual([
      ['message-1', 'Bearer token-1'],
      ['message-1', 'Bearer token-2'],
    ]);
    expect(world.accessTokens.asked).toEqual([
      { subscriptionId: 'subscription-1', timeoutMs: 15_000 },
      { subscriptionId: 'subscription-1', timeoutMs: 13_000, refused: 'token-1' },
    ]);
  });

  it('ends with the second refusal', async () => {
    world.subscriber.script(URL, [status(401)]);
    expect(await deliver()).toMatchObject({ status: 'rejected', reason: 'http_401', attempts: [{}] });
    expect(requests()).toHaveLength(2);
  });

  it('ends with the first refusal of a subscriber that asks for no other attempt', async () => {
    world.subscriber.script(URL, [status(401, { asks: 'abort-message' }), status(200)]);
    expect(await deliver()).toMatchObject({ status: 'rejected', reason: 'abort_requested' });
    expect(requests()).toHaveLength(1);
  });

  it('ends with the first refusal of a token that is new', async () => {
    world.accessTokens.renews = false;
    world.subscriber.script(URL, [status(401)]);
    expect(await deliver()).toMatchObject({ status: 'rejected', reason: 'http_401' });
    expect(requests()).toHaveLength(1);
  });

  it('has failed if a refused token cannot be renewed', async () => {
    world.subscriber.script(URL, [status(401), status(200)]);
    world.subscriber.onRequest = () => {
      world.accessTokens.outage = 'timeout: before an answer';
      return Promise.resolve();
    };
    const { attempts } = await deliver();
    expect(attempts).toMatchObject([
      { outcome: 'failed', result: withoutToken('timeout: before an answer') },
    ]);
    expect(requests()).toHaveLength(1);
  });

  it.each<[string, (ports: PipelineWorld) => void]>([
    [
      'the request',
      ({ subscriber }) => {
        subscriber.post = failingAtSecond(subscriber.post.bind(subscriber));
      },
    ],
    [
      'the request for a token',
      ({ accessTokens }) => {
        accessTokens.tokenFor = failingAtSecond(accessTokens.tokenFor.bind(accessTokens));
      },
    ],
  ])('has failed, and counts, if after a refusal %s cannot be sent', async (_what, fail) => {
    world.subscriber.script(URL, [status(401), status(200)]);
    fail(world);
    const { attempts } = await deliver();
    expect(attempts).toMatchObject([{ outcome: 'failed', result: withoutToken('not sent again: EMFILE') }]);
    expect(requests()).toHaveLength(1);
  });

  it('takes the time for the tokens off the time for its requests', async () => {
    world.accessTokens.delayMs = 4_000;
    world.subscriber.script(URL, [status(401, { takesMs: 1_000 }), status(200)]);
    const { attempts } = await deliver();
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([11_000, 6_000]);
    expect(attempts).toMatchObject([{ durationMs: 9_000 }]);
  });

  it('does not record the tokens that the subscriber sends back', async () => {
    world.subscriber.script(URL, [status(401), status(400, { snippet: 'not for token-1, token-2!' })]);
    expect((await deliver()).attempts).toMatchObject([{ result: { snippet: 'not for ***, ***!' } }]);
  });
});

describe('an attempt with a client certificate', () => {
  it.each([
    ['with its key', {}],
    ['and the private authority of the subscriber', { ca: 'authority' }],
  ])('uses the certificate %s', async (_what, ca) => {
    await deliver({ type: 'mtls', certificate: 'certificate', private_key: 'key', ...ca });
    const identity = { certificate: 'certificate', privateKey: 'key' };
    expect(sent).toEqual([{ timeoutMs: 15_000, tls: { identity, ...ca } }]);
    expect(requests()).toEqual([['message-1', undefined]]);
  });
});

describe('an attempt at a subscriber with a private authority', () => {
  it.each<Auth>([
    { type: 'header', name: 'x-key', value: 'k' },
    { type: 'basic', username: 'ada', password: 'p' },
    anOAuth2Auth(),
  ])('trusts it beside $type', async (auth) => {
    await deliver({ ...auth, ca: 'authority' });
    expect(sent).toEqual([{ timeoutMs: 15_000, tls: { ca: 'authority' } }]);
  });
});

/** Throws at the second call, for lack of a descriptor. */
const failingAtSecond = <Given extends unknown[], Result>(method: (...given: Given) => Promise<Result>) => {
  let calls = 0;
  return (...given: Given): Promise<Result> => {
    calls += 1;
    return calls === 2 ? Promise.reject(new RequestNotSentError('EMFILE')) : method(...given);
  };
};
