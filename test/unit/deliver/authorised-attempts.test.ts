import { beforeEach, describe, expect, it } from 'vitest';
import { type Auth, type StoredAuth, redactedAuth } from '../../../shared/domain/subscription/auth.ts';
import { withAuth } from '../../../shared/domain/subscription/destination.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { answered } from '../../support/delivery-builders.ts';

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
