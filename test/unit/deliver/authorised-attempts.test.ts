import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Auth, redactedAuth, type StoredAuth } from '../../../shared/domain/subscription/auth.ts';
import { withAuth } from '../../../shared/domain/subscription/destination.ts';
import { makeSecret, secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { type ClientTls, RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import {
  aBarePolicy,
  aMessage,
  anOAuth2Auth,
  aQueue,
  aSubscription,
  SUBSCRIBER_URL,
} from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status, type TextRequest } from '../../support/in-memory/scripted-subscriber.ts';
import {
  DEFAULT_GRACE_SECONDS,
  rotateSecrets,
  type SealedSecret,
} from '../../../shared/domain/subscription/secret-rotation.ts';

const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };
const URL = SUBSCRIBER_URL;
const DAY = 24 * 60 * 60_000;
const header: Auth = { type: 'header', name: 'X-Api-Key', value: 'Bearer key"0123456789' };
const tabbed: Auth = { type: 'header', name: 'x-api-key', value: 'one\ttwo' };
const slashed: Auth = { type: 'header', name: 'x-api-key', value: 'a/b+c"d/e+f' };
const basic: Auth = { type: 'basic', username: 'zoë', password: 'pass wörd 0123' };
const BASIC = Buffer.from('zoë:pass wörd 0123').toString('base64');
let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

const stored = async (auth: Auth, at = 1): Promise<StoredAuth> => ({
  shown: redactedAuth(auth),
  sealed: await world.secretOpener.sealAuth(OWNER, auth),
  at,
});

const subscribe = async (auth: StoredAuth, more: Partial<ReturnType<typeof aSubscription>> = {}) => {
  const options = { _retry_policy: aBarePolicy(), post_headers: { 'x-team': 'a' } };
  await world.subscriptions.addSubscription(aSubscription({ options, auth, ...more }));
};

const rotate = async (auth: StoredAuth) => {
  const target = { ...OWNER, now: world.clock.now() };
  await world.subscriptions.changeSubscription(target, (current) => ({
    ...current,
    destination: withAuth(current.destination, auth),
  }));
};

const publish = async (id = 'message-1') => {
  await world.dispatch({ ok: true, message: aMessage({ id }) });
  await world.clock.run();
};

describe('the request of an attempt', () => {
  it.each([
    ['a header', header, { 'x-api-key': 'Bearer key"0123456789' }],
    ['basic authentication in UTF-8', basic, { authorization: `Basic ${BASIC}` }],
  ])('carries %s besides the other headers', async (_name, auth, expected) => {
    await subscribe(await stored(auth));
    await publish();
    expect(world.subscriber.seen.map(({ request }) => request.headers)).toMatchObject([
      { ...expected, 'x-team': 'a', 'webhook-id': 'message-1' },
    ]);
  });

  it('is not sent while the credentials cannot be opened, which spends no attempt', async () => {
    await subscribe({ ...(await stored(basic)), sealed: 'of another subscription' });
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 60_000);
    expect(world.subscriber.seen).toEqual([]);

    await rotate(await stored(basic, 2));
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
      lost: 0,
    });
  });
});

describe('the record of an attempt', () => {
  it.each([
    ['as sent', header, 'no such key: Bearer key"0123456789!', 'no such key: ***!'],
    ['without its scheme, in JSON', header, '{"key": "key\\"0123456789"}', '{"key": "***"}'],
    ['with a blank for a tab', tabbed, 'not one two', 'not ***'],
    ['in base64', basic, `bad ${BASIC}`, 'bad ***'],
    ['decoded', basic, 'zoë:pass wörd 0123', 'zoë:***'],
    ['in a URL', basic, `?p=${encodeURIComponent('pass wörd 0123')}`, '?p=***'],
    ['as PHP escapes JSON', slashed, '{"key":"a\\/b+c\\"d\\/e+f"}', '{"key":"***"}'],
    ['as .NET escapes JSON', slashed, '{"key":"a/b\\u002Bc\\u0022d/e\\u002Bf"}', '{"key":"***"}'],
    ['on an HTML page', slashed, '<b>a/b+c&quot;d/e+f</b>', '<b>***</b>'],
    ['on an HTML page by numbers', slashed, '<b>a&#x2F;b&#43;c&#34;d/e+f</b>', '<b>***</b>'],
    ['in a URL in lower case', slashed, '?key=a%2fb%2bc%22d%2fe%2bf', '?key=***'],
    ['cut off amid an escape', slashed, '{"key":"a\\/b\\u002Bc\\"d\\/e\\u002', '{"key":"***'],
    ['cut off', basic, 'zoë:pass wörd', 'zoë:***'],
  ])('does not contain the credentials that a subscriber sends back %s', async (_name, auth, said, kept) => {
    await subscribe(await stored(auth));
    world.subscriber.script(URL, [status(400, { snippet: said })]);
    await publish();
    expect((await world.delivery()).attempts).toMatchObject([{ result: { snippet: kept } }]);
  });

  it.each([
    ['without other credentials', undefined],
    ['beside those of `auth`', basic],
  ])(
    'does not contain the credentials of `post_headers` that a subscriber sends back %s',
    async (_name, auth) => {
      const post_headers = { Authorization: 'Bearer abc123', 'x-team': 'sales' };
      const options = { _retry_policy: aBarePolicy(), post_headers };
      await world.subscriptions.addSubscription(
        aSubscription({ options, ...(auth && { auth: await stored(auth) }) }),
      );
      world.subscriber.script(URL, [status(400, { snippet: 'sales: unknown token abc123' })]);
      await publish();
      expect((await world.delivery()).attempts).toMatchObject([
        { result: { snippet: 'sales: unknown token ***' } },
      ]);
    },
  );
});

describe('the record of an attempt whose answer has escapes, but no credentials', () => {
  it('has it as it was sent', async () => {
    const said = '{"a\\/b": "&amp; %41 \\u0041 &#999999; 5 %"}';
    await subscribe(await stored(basic));
    world.subscriber.script(URL, [status(400, { snippet: said })]);
    await publish();
    expect((await world.delivery()).attempts).toMatchObject([{ result: { snippet: said } }]);
  });
});

describe('credentials that are replaced', () => {
  const retried = { _retry_policy: aBarePolicy({ retries_with_no_delay: 1 }) };

  it.each([401, 403])(
    'are used by a retry if the old ones, from the cache, are refused by %i',
    async (code) => {
      await subscribe(await stored(basic), { options: retried });
      world.subscriber.script(URL, [status(code), status(200)]);
      world.subscriber.onRequest = async (_request, count) => {
        if (count === 1) await rotate(await stored(header, 2));
      };
      await publish();
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ result: answered(code), outcome: 'failed' }, { result: answered(200) }],
      });
      expect(world.subscriber.seen[1]?.request.headers).toMatchObject({
        'x-api-key': 'Bearer key"0123456789',
      });
      expect(world.subscriber.seen[1]?.request.headers).not.toHaveProperty('authorization');
    },
  );

  it('change nothing about a subscriber that asks for no other attempt', async () => {
    await subscribe(await stored(basic), { options: retried });
    world.subscriber.script(URL, [status(401, { asks: 'abort-message' }), status(200)]);
    world.subscriber.onRequest = async () => rotate(await stored(header, 2));
    await publish();
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'abort_requested' });
  });

  it('change nothing about another refusal; nor are unchanged ones tried again', async () => {
    await subscribe(await stored(basic), { options: retried });
    world.subscriber.script(URL, [status(404), status(401)]);
    world.subscriber.onRequest = async (_request, count) => {
      if (count === 1) await rotate(await stored(header, 2));
    };
    await publish();
    await publish('message-2');
    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'http_404' });
  });
});

describe('a client certificate', () => {
  it('is reported 30, 7 and 1 days before it expires, once each, and never again', async () => {
    const notAfter = world.clock.now() + 31 * DAY;
    await subscribe({ ...(await stored(header)), notAfter });
    const days = async (left: number) => {
      await world.clock.run(notAfter - left * DAY);
      for (const copy of ['a', 'b']) await publish(`${left}-${copy}`);
      return world.operatorEvents.published.flatMap((event) =>
        event.type === 'subscription.certificate_expiring' ? [event.days] : [],
      );
    };
    expect(await days(30.1)).toEqual([]);
    expect(await days(30)).toEqual([30]);
    expect(await days(8)).toEqual([30]);
    expect(await days(0.5)).toEqual([30, 1]);
    expect(await days(-1)).toEqual([30, 1]);
    expect(world.operatorEvents.published.at(-1)).toMatchObject({ expiresAt: notAfter });
  });

  it('that replaces another is reported anew', async () => {
    const notAfter = world.clock.now() + 5 * DAY;
    await subscribe({ ...(await stored(header)), notAfter });
    await publish();
    await rotate({ ...(await stored(header, 2)), notAfter: notAfter + 1 });
    await world.clock.run(world.clock.now() + 60_000);
    await publish('message-2');
    expect(world.operatorEvents.published).toMatchObject([
      { expiresAt: notAfter, days: 7 },
      { expiresAt: notAfter + 1, days: 7 },
    ]);
  });
});

describe('with access tokens and certificates,', () => {
  /** The third parameter of each request, and the time that it may take. */
  let sent: { timeoutMs: number; tls: ClientTls | undefined }[];

  beforeEach(() => {
    sent = [];
    const send = world.subscriber.post.bind(world.subscriber);
    world.subscriber.post = (request, timeoutMs, options) => {
      sent.push({ timeoutMs, tls: options?.tls });
      return send(request, timeoutMs);
    };
  });

  const deliver = async (auth: Auth = anOAuth2Auth(), policy = aBarePolicy()) => {
    await subscribe(await stored(auth), { options: { _retry_policy: policy } });
    await publish();
    return world.delivery();
  };

  const requests = () =>
    world.subscriber.seen.map(({ request: { headers } }) => [
      headers['webhook-id'],
      headers['authorization'],
    ]);

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
});

describe('with signing secrets,', () => {
  const GRACE_MS = DEFAULT_GRACE_SECONDS * 1000;
  const secretOf = (fill: number) => makeSecret('v1', (count) => Buffer.alloc(count, fill));
  const sealed = (fill: number): Promise<string> => world.secretOpener.seal(OWNER, secretOf(fill));

  const subscribeWith = async (secrets: readonly SealedSecret[] | undefined, policy = aBarePolicy()) => {
    const options = { _retry_policy: policy };
    await world.subscriptions.addSubscription(
      aSubscription(secrets === undefined ? { options } : { options, secrets }),
    );
  };

  /** Whether the official library accepts the signature at the time of the request. */
  const verifies = (fill: number, { request, at }: { request: TextRequest; at: number }): boolean => {
    vi.useFakeTimers({ now: at, toFake: ['Date'] });
    try {
      new Webhook(secretText(secretOf(fill))).verify(request.body, request.headers);
      return true;
    } catch {
      return false;
    } finally {
      vi.useRealTimers();
    }
  };

  describe('each attempt', () => {
    it('is not made if the subscription expires while its secret is decrypted', async () => {
      const now = world.clock.now();
      await world.subscriptions.addSubscription(
        aSubscription({ secrets: [{ sealed: await sealed(1) }], expiresAt: now + 1_000 }),
      );
      const open = world.secretOpener.open.bind(world.secretOpener);
      world.secretOpener.open = async (...args) => {
        await world.clock.sleep(1_500);
        return open(...args);
      };
      await publish();

      expect(world.subscriber.seen).toEqual([]);
      expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'subscription_expired' });
    });

    it('has a separate signature and timestamp', async () => {
      await subscribeWith(
        [{ sealed: await sealed(1) }],
        aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600 }),
      );
      world.subscriber.script(URL, [status(503), status(200)]);
      await publish();

      const [first, second] = world.subscriber.seen;
      expect(world.subscriber.seen.map((one) => verifies(1, one))).toEqual([true, true]);
      expect(second?.request.headers['webhook-id']).toBe(first?.request.headers['webhook-id']);
      expect(second?.request.headers['webhook-signature']).not.toBe(
        first?.request.headers['webhook-signature'],
      );
    });

    it('to a subscription without secrets is unsigned', async () => {
      await subscribeWith(undefined);
      await publish();
      expect(world.subscriber.seen).toHaveLength(1);
      expect(world.subscriber.seen[0]?.request.headers).not.toHaveProperty('webhook-signature');
    });
  });

  describe('while a secret rotates', () => {
    const attemptAt = async (sinceRotationMs: number) => {
      const rotation = rotateSecrets<SealedSecret>(
        [{ sealed: await sealed(1) }],
        { sealed: await sealed(2) },
        {
          now: world.clock.now(),
          graceMs: GRACE_MS,
        },
      );
      await subscribeWith(rotation.kind === 'rotated' ? rotation.secrets : []);
      await world.clock.run(world.clock.now() + sinceRotationMs);
      await publish();
      const [seen] = world.subscriber.seen;
      if (seen === undefined) throw new Error('Nothing was sent.');
      return [verifies(1, seen), verifies(2, seen)];
    };

    it('both secrets sign until the last millisecond of the grace period', async () => {
      expect(await attemptAt(GRACE_MS - 1)).toEqual([true, true]);
    });

    it('only the new secret signs at its end', async () => {
      expect(await attemptAt(GRACE_MS)).toEqual([false, true]);
    });

    it('the time of the request decides, even if the grace period ends while the secrets are decrypted', async () => {
      const open = world.secretOpener.open.bind(world.secretOpener);
      vi.spyOn(world.secretOpener, 'open').mockImplementation(async (owner, text) => {
        await world.clock.sleep(1);
        return open(owner, text);
      });
      expect(await attemptAt(GRACE_MS - 1)).toEqual([false, true]);
    });
  });

  describe('a secret that cannot be decrypted', () => {
    const outage = new Error('KMS does not respond');

    it('prevents the claim, and spends or loses no attempt', async () => {
      await subscribeWith([{ sealed: await sealed(1) }]);
      world.secretOpener.outage = outage;
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + 60_000);
      expect(world.subscriber.seen).toEqual([]);
      await expect(world.delivery()).rejects.toThrow('no delivery of message-1');

      world.secretOpener.outage = undefined;
      await world.clock.run();
      expect(world.subscriber.seen.map((one) => verifies(1, one))).toEqual([true]);
      const { status: ended, attempts } = await world.delivery();
      expect(ended).toBe('delivered');
      expect(attempts).toHaveLength(1);
      expect(attempts[0]).not.toHaveProperty('lost');
    });

    it('delays a retry, which keeps its number', async () => {
      await subscribeWith([{ sealed: await sealed(1) }], aBarePolicy({ minimum_delay_retries: 1 }));
      world.subscriber.script(URL, [status(503), status(200)]);
      world.subscriber.onRequest = () => {
        world.secretOpener.outage = outage;
        return Promise.resolve();
      };
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + 30_000);
      expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { number: 2 }, lost: 0 });

      world.secretOpener.outage = undefined;
      await world.clock.run();
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1 }, { number: 2 }],
      });
      expect(world.subscriber.seen).toHaveLength(2);
    });

    it('prevents the request even if another secret can be decrypted, since a subscriber may know only one', async () => {
      const expiresAt = world.clock.now() + GRACE_MS;
      await subscribeWith([{ sealed: await sealed(2) }, { sealed: 'undecryptable', expiresAt }]);
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + 60_000);
      expect(world.subscriber.seen).toEqual([]);
    });

    it('is ignored after its grace period', async () => {
      await subscribeWith([
        { sealed: await sealed(2) },
        { sealed: 'undecryptable', expiresAt: world.clock.now() },
      ]);
      await publish();
      expect(world.subscriber.seen.map((one) => verifies(2, one))).toEqual([true]);
    });
  });
});
