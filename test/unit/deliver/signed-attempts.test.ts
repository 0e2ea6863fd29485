import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  makeSecret,
  secretText,
  DEFAULT_GRACE_SECONDS,
  rotateSecrets,
  type SealedSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status, type TextRequest } from '../../support/in-memory/scripted-subscriber.ts';

const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };
const URL = SUBSCRIBER_URL;
const GRACE_MS = DEFAULT_GRACE_SECONDS * 1000;

const secretOf = (fill: number) => makeSecret('v1', (count) => Buffer.alloc(count, fill));

let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

const sealed = (fill: number): Promise<string> => world.secretOpener.seal(OWNER, secretOf(fill));

const subscribeWith = async (secrets: readonly SealedSecret[] | undefined, policy = aBarePolicy()) => {
  const options = { _retry_policy: policy };
  await world.subscriptions.addSubscription(
    aSubscription(secrets === undefined ? { options } : { options, secrets }),
  );
};

const publish = async (): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();
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
