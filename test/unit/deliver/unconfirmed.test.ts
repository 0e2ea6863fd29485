import { beforeEach, describe, expect, it } from 'vitest';
import {
  newConfirmation,
  sendOwedConfirmation,
} from '../../../functions/api/subscriptions/ask-confirmation.ts';
import { confirm } from '../../../functions/api/subscriptions/confirm.ts';
import { moveTo } from '../../../shared/domain/subscription/change.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const POLICY = { minimum_delay_retries: 3, minimum_delay: 5 };
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

const apiContext = () => ({
  ...world.apiContext(),
  settings: { ...world.apiContext().settings, subscriptionConfirmation: true },
  // Every token is the same.
  randomBytes: (bytes: number) => new Uint8Array(bytes).fill(7),
});

/** Sends a confirmation request and returns the token of its link. */
const ask = async (): Promise<string> => {
  const { token, unconfirmed } = newConfirmation(apiContext());
  await world.subscribe(POLICY, { unconfirmed });
  await sendOwedConfirmation(apiContext(), await world.subscription(), 'https://api.test');
  return token;
};

describe('a subscriber that has to confirm', () => {
  it('receives the confirmation request like a message, and no message before it confirms', async () => {
    const token = await ask();
    await world.deliver();
    expect(world.subscriber.seen.map(({ request }) => JSON.parse(request.body) as unknown)).toEqual([
      expect.objectContaining({
        type: 'posthaste.subscription_confirmation',
        queue: 'orders',
        data: {
          ...world.name,
          confirmUrl: `https://api.test/v2/queues/orders/subscriptions/subscription-1/confirm?token=${token}`,
        },
      }),
    ]);
  });

  it('receives the confirmation request again according to its retry policy', async () => {
    world.subscriber.script(world.url, [status(503), status(503), status(200)]);
    await ask();
    await world.clock.run();
    expect(world.requestedMessages()).toHaveLength(3);
    expect(new Set(world.requestedMessages()).size).toBe(1);
  });

  it('does not pass its link on by an answer that repeats it, in which others could read it', async () => {
    const token = await ask();
    world.subscriber.script(world.url, [status(400, { snippet: `no field ?token=${token}` })]);
    await world.clock.run();
    const [id = ''] = world.requestedMessages();
    const { attempts } = await world.delivery(world.name.subscriptionId, id);
    expect(attempts).toMatchObject([{ result: { snippet: 'no field ?token=***' } }]);
  });

  it('receives the messages sent after its confirmation', async () => {
    const token = await ask();
    await world.clock.run();
    await world.runFor(1_000);
    expect(await confirm(apiContext(), world.name, token)).toBe(true);
    await world.runFor(1_000);
    await world.deliver('message-2');
    expect(world.requestedMessages().at(-1)).toBe('message-2');
  });

  it('does not receive deliveries started for the previous URL; their messages are stored', async () => {
    await world.subscribe(POLICY);
    await world.publish();
    await world.change((current) => ({
      ...moveTo(parseDestination('https://other.test/hook'), current, world.clock.now()),
      unconfirmed: { tokenHash: 'another token', at: world.clock.now() },
    }));
    await world.clock.run();
    expect(world.subscriber.seen).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'subscription_unconfirmed' });
    expect(await world.messageRecords.find(world.key)).toHaveProperty('body');
  });
});

it('a cached subscription that cannot be called is read again before its delivery is cancelled', async () => {
  await world.subscribe(POLICY);
  const disabled = { ...(await world.subscription()), disabled: { reason: 'manual', at: 0 } as const };
  const find = world.subscriptions.find.bind(world.subscriptions);
  const reads: string[] = [];
  world.subscriptions.find = async (queue, id, freshness) => {
    reads.push(freshness);
    const found = await find(queue, id, freshness);
    return freshness === 'fresh' ? found : { ...found, subscription: disabled };
  };
  await world.deliver();
  expect(reads).toEqual(['cached', 'fresh']);
  expect(await world.delivery()).toMatchObject({ status: 'delivered' });
});
