import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Auth, redactedAuth, type StoredAuth } from '../../../shared/domain/subscription/auth.ts';
import { withAuth } from '../../../shared/domain/subscription/destination.ts';
import {
  DEFAULT_GRACE_SECONDS,
  rotateSecrets,
  type SealedSecret,
} from '../../../shared/domain/subscription/secret-rotation.ts';
import { makeSecret, secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { anOAuth2Auth } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status, type TextRequest } from '../../support/in-memory/scripted-subscriber.ts';

const DAY = 24 * 60 * 60_000;
const header: Auth = { type: 'header', name: 'X-Api-Key', value: 'Bearer key"0123456789' };
const tabbed: Auth = { type: 'header', name: 'x-api-key', value: 'one\ttwo' };
const slashed: Auth = { type: 'header', name: 'x-api-key', value: 'a/b+c"d/e+f' };
const basic: Auth = { type: 'basic', username: 'zoë', password: 'pass wörd 0123' };
const BASIC = Buffer.from('zoë:pass wörd 0123').toString('base64');
const OTHER_ESCAPES = '{"a\\/b": "&amp; %41 \\u0041 &#999999; 5 %"}';
type Policy = Parameters<OneSubscriberWorld['subscribe']>[0];
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

const stored = async (auth: Auth, at = 1): Promise<StoredAuth> => ({
  shown: redactedAuth(auth),
  sealed: await world.secretOpener.sealAuth(world.name, auth),
  at,
});

const subscribe = (auth: StoredAuth, policy: Policy = {}, options: SubscriptionOptions = {}) =>
  world.subscribe(policy, { auth, options });

const rotate = (auth: StoredAuth) =>
  world.change((current) => ({ ...current, destination: withAuth(current.destination, auth) }));

const headers = () => world.subscriber.seen.map(({ request }) => request.headers);

describe('the request of an attempt', () => {
  it.each([
    ['a header', header, { 'x-api-key': 'Bearer key"0123456789' }],
    ['basic authentication in UTF-8', basic, { authorization: `Basic ${BASIC}` }],
  ])('carries %s besides the other headers', async (_name, auth, expected) => {
    await subscribe(await stored(auth), {}, { post_headers: { 'x-team': 'a' } });
    await world.deliver();
    expect(headers()).toMatchObject([{ ...expected, 'x-team': 'a', 'webhook-id': 'message-1' }]);
  });

  it('is not sent while the credentials cannot be opened, which spends no attempt', async () => {
    await subscribe({ ...(await stored(basic)), sealed: 'of another subscription' });
    await world.publish();
    await world.runFor(60_000);
    expect(world.subscriber.seen).toEqual([]);

    await rotate(await stored(basic, 2));
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }], lost: 0 });
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
    ['not at all, but other escapes', basic, OTHER_ESCAPES, OTHER_ESCAPES],
  ])('does not contain the credentials that a subscriber sends back %s', async (_name, auth, said, kept) => {
    await subscribe(await stored(auth));
    await world.answer(status(400, { snippet: said }));
    expect((await world.delivery()).attempts).toMatchObject([{ result: { snippet: kept } }]);
  });

  it.each([
    ['without other credentials', undefined],
    ['beside those of `auth`', basic],
  ])('does not contain those of `post_headers` that a subscriber sends back %s', async (_name, auth) => {
    const post_headers = { Authorization: 'Bearer abc123', 'x-team': 'sales' };
    await world.subscribe({}, { options: { post_headers }, ...(auth && { auth: await stored(auth) }) });
    await world.answer(status(400, { snippet: 'sales: unknown token abc123' }));
    expect((await world.delivery()).attempts).toMatchObject([
      { result: { snippet: 'sales: unknown token ***' } },
    ]);
  });
});

describe('credentials that are replaced during a request', () => {
  beforeEach(async () => {
    await subscribe(await stored(basic), { retries_with_no_delay: 1 });
    world.subscriber.onRequest = async (_request, count) => {
      if (count === 1) await rotate(await stored(header, 2));
    };
  });

  it.each([401, 403])(
    'are used by a retry if the old ones, from the cache, are refused by %i',
    async (code) => {
      world.subscriber.script(world.url, [status(code), status(200)]);
      await world.deliver();
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ result: answered(code), outcome: 'failed' }, { result: answered(200) }],
      });
      expect(headers()[1]).toMatchObject({ 'x-api-key': 'Bearer key"0123456789' });
      expect(headers()[1]).not.toHaveProperty('authorization');
    },
  );

  it('are used by a retry if they cannot be read after the refusal, which counts as an attempt', async () => {
    world.subscriber.script(world.url, [status(401), status(200)]);
    const find = world.subscriptions.find.bind(world.subscriptions);
    let faults = 0;
    world.subscriptions.find = (...asked) => {
      const isFaulty = world.subscriber.seen.length === 1 && faults === 0;
      if (!isFaulty) return find(...asked);
      faults += 1;
      return Promise.reject(new Error('throttled'));
    };
    await world.deliver();
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ result: answered(401), outcome: 'failed' }, { result: answered(200) }],
      lost: 0,
    });
    expect(world.subscriber.seen).toHaveLength(2);
  });

  it('change nothing about a subscriber that asks for no other attempt', async () => {
    world.subscriber.script(world.url, [status(401, { asks: 'abort-message' }), status(200)]);
    await world.deliver();
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'abort_requested' });
  });

  it('change nothing about another refusal; nor are unchanged ones tried again', async () => {
    world.subscriber.script(world.url, [status(404), status(401)]);
    await world.deliver();
    await world.deliver('message-2');
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
      for (const copy of ['a', 'b']) await world.deliver(`${left}-${copy}`);
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
    await world.deliver();
    await rotate({ ...(await stored(header, 2)), notAfter: notAfter + 1 });
    await world.runFor(60_000);
    await world.deliver('message-2');
    expect(world.operatorEvents.published).toMatchObject([
      { expiresAt: notAfter, days: 7 },
      { expiresAt: notAfter + 1, days: 7 },
    ]);
  });

  const mtls = { type: 'mtls', certificate: 'certificate', private_key: 'key' } as const;
  const identity = { certificate: 'certificate', privateKey: 'key' };
  const ca = 'authority';

  it.each<[string, Auth, object]>([
    ['is used with its key', mtls, { identity }],
    ['is used with the private authority of the subscriber', { ...mtls, ca }, { identity, ca }],
    ['is not needed for a private authority beside a header', { ...header, ca }, { ca }],
    ['is not needed for a private authority beside a password', { ...basic, ca }, { ca }],
    ['is not needed for a private authority beside access tokens', { ...anOAuth2Auth(), ca }, { ca }],
  ])('%s', async (_, auth, tls) => {
    const post = vi.spyOn(world.subscriber, 'post');
    await subscribe(await stored(auth));
    await world.deliver();
    expect(post.mock.calls.map(([, timeoutMs, options]) => [timeoutMs, options?.tls])).toEqual([
      [15_000, tls],
    ]);
  });
});

describe('an attempt with an access token', () => {
  const failNext = (spy: { mockRejectedValueOnce: (error: Error) => unknown }) =>
    spy.mockRejectedValueOnce(new RequestNotSentError('EMFILE'));

  const deliver = async (policy: Policy = {}) => {
    await subscribe(await stored(anOAuth2Auth()), policy);
    await world.deliver();
    return world.delivery();
  };

  const tokens = () => headers().map(({ authorization }) => authorization);

  const withoutToken = (detail: string) => ({ kind: 'unanswered', error: 'auth_failed', detail });

  it('has failed without a request if there is no token, and is retried', async () => {
    world.accessTokens.outage = 'invalid_client';
    world.clock.at(world.startedAt + 30_000, () => (world.accessTokens.outage = undefined));
    const { attempts } = await deliver({ minimum_delay_retries: 1, minimum_delay: 60 });
    expect(attempts).toMatchObject([
      { outcome: 'failed', result: withoutToken('invalid_client') },
      { outcome: 'delivered' },
    ]);
    expect(tokens()).toHaveLength(1);
  });

  it('is no attempt if the token could not be asked for', async () => {
    failNext(vi.spyOn(world.accessTokens, 'tokenFor'));
    expect(await deliver()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }], lost: 0 });
  });

  it('renews a token that the subscriber refuses, and sends the request again', async () => {
    world.subscriber.script(world.url, [status(401, { takesMs: 2_000 }), status(200)]);
    expect(await deliver()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'delivered', result: answered(200) }],
    });
    expect(tokens()).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(world.requestedMessages()).toEqual(['message-1', 'message-1']);
    expect(world.accessTokens.asked).toEqual([
      { subscriptionId: 'subscription-1', timeoutMs: 15_000 },
      { subscriptionId: 'subscription-1', timeoutMs: 13_000, refused: 'token-1' },
    ]);
  });

  it.each([
    ['the second refusal', status(401), 'http_401', 2],
    ['the first one if it asks for no other', status(401, { asks: 'abort-message' }), 'abort_requested', 1],
  ])('ends with %s', async (_, reply, reason, requests) => {
    world.subscriber.script(world.url, [reply]);
    expect(await deliver()).toMatchObject({ status: 'rejected', reason, attempts: [{}] });
    expect(tokens()).toHaveLength(requests);
  });

  it('ends with the first refusal of a token that is new', async () => {
    world.accessTokens.renews = false;
    world.subscriber.script(world.url, [status(401)]);
    expect(await deliver()).toMatchObject({ status: 'rejected', reason: 'http_401' });
    expect(tokens()).toHaveLength(1);
  });

  const NOT_SENT = 'not sent again: EMFILE';

  it.each([
    ['the token cannot be renewed', 'invalid_client', () => (world.accessTokens.outage = 'invalid_client')],
    ['the request cannot be sent', NOT_SENT, () => failNext(vi.spyOn(world.subscriber, 'post'))],
    [
      'the one for a token cannot be sent',
      NOT_SENT,
      () => failNext(vi.spyOn(world.accessTokens, 'tokenFor')),
    ],
  ])('has failed, and counts, if after a refusal %s', async (_, detail, fail) => {
    world.subscriber.script(world.url, [status(401), status(200)]);
    world.subscriber.onRequest = () => {
      fail();
      return Promise.resolve();
    };
    const { attempts } = await deliver();
    expect(attempts).toMatchObject([{ outcome: 'failed', result: withoutToken(detail) }]);
    expect(tokens()).toHaveLength(1);
  });

  it('takes the time for the tokens off the time for its requests', async () => {
    world.accessTokens.delayMs = 4_000;
    world.subscriber.script(world.url, [status(401, { takesMs: 1_000 }), status(200)]);
    const post = vi.spyOn(world.subscriber, 'post');
    const { attempts } = await deliver();
    expect(post.mock.calls.map(([, timeoutMs]) => timeoutMs)).toEqual([11_000, 6_000]);
    expect(attempts).toMatchObject([{ durationMs: 9_000 }]);
  });

  it('does not record the tokens that the subscriber sends back', async () => {
    world.subscriber.script(world.url, [status(401), status(400, { snippet: 'not for token-1, token-2!' })]);
    expect((await deliver()).attempts).toMatchObject([{ result: { snippet: 'not for ***, ***!' } }]);
  });
});

describe('with signing secrets, an attempt', () => {
  const GRACE_MS = DEFAULT_GRACE_SECONDS * 1000;
  const secretOf = (fill: number) => makeSecret('v1', (count) => Buffer.alloc(count, fill));
  const sealed = async (fill: number, expiresAt?: number): Promise<SealedSecret> => ({
    sealed: await world.secretOpener.seal(world.name, secretOf(fill)),
    ...(expiresAt !== undefined && { expiresAt }),
  });

  const subscribeWith = (secrets: readonly SealedSecret[], policy: Policy = {}) =>
    world.subscribe(policy, { secrets });

  /** Makes opening a secret take so long. */
  const openSlowly = (milliseconds: number): void => {
    const open = world.secretOpener.open.bind(world.secretOpener);
    world.secretOpener.open = async (...args) => {
      await world.clock.sleep(milliseconds);
      return open(...args);
    };
  };

  /** Whether the official library accepts the signature of each request at its time. */
  const verified = (fill: number): boolean[] =>
    world.subscriber.seen.map(({ request, at }) => verifies(fill, request, at));

  const verifies = (fill: number, request: TextRequest, at: number): boolean => {
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

  it('is not made if the subscription expires while its secret is decrypted', async () => {
    await world.subscribe({}, { secrets: [await sealed(1)], expiresAt: world.startedAt + 1_000 });
    openSlowly(1_500);
    await world.deliver();

    expect(world.subscriber.seen).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'subscription_expired' });
  });

  it('has a separate signature and timestamp', async () => {
    await subscribeWith([await sealed(1)], { minimum_delay_retries: 1, minimum_delay: 600 });
    world.subscriber.script(world.url, [status(503), status(200)]);
    await world.deliver();

    expect(verified(1)).toEqual([true, true]);
    expect(new Set(world.requestedMessages())).toEqual(new Set(['message-1']));
    expect(new Set(headers().map((one) => one['webhook-signature'])).size).toBe(2);
  });

  it('is unsigned without secrets', async () => {
    await world.subscribe();
    await world.deliver();
    expect(headers()).toHaveLength(1);
    expect(headers()[0]).not.toHaveProperty('webhook-signature');
  });

  it.each([
    ['in the last millisecond of the grace period has both signatures', GRACE_MS - 1, 0, true],
    ['at its end has the new one only', GRACE_MS, 0, false],
    ['at its end has the new one, even if decrypting began before', GRACE_MS - 1, 1, false],
  ])('%s', async (_, sinceRotationMs, opensInMs, hasOld) => {
    const rotation = rotateSecrets<SealedSecret>([await sealed(1)], await sealed(2), {
      now: world.clock.now(),
      graceMs: GRACE_MS,
    });
    await subscribeWith(rotation.kind === 'rotated' ? rotation.secrets : []);
    if (opensInMs > 0) openSlowly(opensInMs);
    await world.runFor(sinceRotationMs);
    await world.deliver();
    expect([verified(1), verified(2)]).toEqual([[hasOld], [true]]);
  });

  describe('of which one cannot be decrypted', () => {
    const outage = new Error('KMS does not respond');

    it('is neither spent nor lost, and not even claimed', async () => {
      await subscribeWith([await sealed(1)]);
      world.secretOpener.outage = outage;
      await world.publish();
      await world.runFor(60_000);
      expect(world.subscriber.seen).toEqual([]);
      await expect(world.delivery()).rejects.toThrow('no delivery of message-1');

      world.secretOpener.outage = undefined;
      await world.clock.run();
      expect(verified(1)).toEqual([true]);
      const delivery = await world.delivery();
      expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      expect(delivery).not.toHaveProperty('attempts.0.lost');
    });

    it('is delayed if it is a retry, which keeps its number', async () => {
      await subscribeWith([await sealed(1)], { minimum_delay_retries: 1 });
      world.subscriber.script(world.url, [status(503), status(200)]);
      world.subscriber.onRequest = () => {
        world.secretOpener.outage = outage;
        return Promise.resolve();
      };
      await world.publish();
      await world.runFor(30_000);
      expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { number: 2 }, lost: 0 });

      world.secretOpener.outage = undefined;
      await world.clock.run();
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1 }, { number: 2 }],
      });
      expect(world.subscriber.seen).toHaveLength(2);
    });

    it.each([
      ['is not made during its grace period, since a subscriber may know only that one', GRACE_MS, []],
      ['is made after its grace period', 0, [true]],
    ])('%s', async (_, graceMs, expected) => {
      const old = { sealed: 'undecryptable', expiresAt: world.clock.now() + graceMs };
      await subscribeWith([await sealed(2), old]);
      await world.publish();
      await world.runFor(60_000);
      expect(verified(2)).toEqual(expected);
    });
  });
});
