import { isOpen, type Delivery, type DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { absenceOf } from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Deliveries } from '../../../shared/ports/deliveries.ts';
import type { SubscriptionRegistry } from '../../../shared/ports/subscriptions.ts';
import { publishToOne, type PublishToOneContext } from './publish-to-one.ts';

export type TestContext = PublishToOneContext & {
  registry: Pick<SubscriptionRegistry, 'findSubscription'>;
  deliveries: Pick<Deliveries, 'find'>;
  clock: Clock;
  newId: () => string;
};

/** `data` is the source text of a JSON value. */
export type TestRequest = { queue: string; subscriptionId: string; type?: string; data?: string };

export type TestResult =
  /** `tried`: an attempt is on record, or the delivery was over without one. `waiting`: neither within the time. */
  | { kind: 'tried' | 'waiting'; delivery: Delivery }
  | { kind: 'missing' }
  /** It takes no requests, so there is nothing to try. */
  | { kind: 'refused'; why: 'disabled' | 'subscription_unconfirmed' };

const TEST_TYPE = 'posthaste.test';
const TEST_DATA = '{"test":true}';

/** API Gateway gives up after 30 s; the longest attempt that a deployment allows may take as long as that. */
const PATIENCE_MS = 20_000;
/** Seconds. */
const INTERVAL = { floor: 0.25, ceiling: 2, exponent: 1.5 };

/**
 * Sends a message to this one subscription, whatever it asks for, on the way that all messages take from dispatch on, and
 * waits for its first attempt. It is on record like any other, and it is tried again like any other.
 * @throws when it could not be recorded or sent
 */
export async function testSubscription(context: TestContext, request: TestRequest): Promise<TestResult> {
  const { registry, clock, newId } = context;
  const { queue, subscriptionId, type = TEST_TYPE, data = TEST_DATA } = request;
  const startedAt = clock.now();
  const absence = absenceOf(await registry.findSubscription(queue, subscriptionId), startedAt);
  if (absence === 'disabled' || absence === 'subscription_unconfirmed') {
    return { kind: 'refused', why: absence };
  }
  if (absence !== undefined) return { kind: 'missing' };
  const timestamp = new Date(startedAt).toISOString();
  const message: Message = { queue, id: newId(), type, timestamp, data };
  return outcomeOf(context, await publishToOne(context, message, subscriptionId), startedAt + PATIENCE_MS);
}

async function outcomeOf(
  { deliveries, clock, settings }: Pick<TestContext, 'deliveries' | 'clock' | 'settings'>,
  key: DeliveryKey,
  deadline: number,
): Promise<TestResult> {
  const sentAt = clock.now();
  let interval = pollInterval(INTERVAL);
  for (;;) {
    const delivery = await deliveries.find(key);
    if (delivery !== undefined && isTried(delivery)) return { kind: 'tried', delivery };
    const leftMs = deadline - clock.now();
    if (leftMs <= 0) {
      return { kind: 'waiting', delivery: delivery ?? notBegun(key, sentAt, settings.retentionMs) };
    }
    await clock.sleep(Math.min(interval.wait * 1000, leftMs));
    interval = interval.afterEmpty();
  }
}

function isTried({ status, attempts }: Delivery): boolean {
  return attempts.length > 0 || !isOpen(status);
}

/** As its record will be once its job is taken from the queue. */
function notBegun(key: DeliveryKey, acceptedAt: number, retentionMs: number): Delivery {
  return {
    key,
    acceptedAt,
    status: 'pending',
    round: 1,
    attempts: [],
    lateResults: [],
    lost: 0,
    owed: [],
    recoveries: [],
    updatedAt: acceptedAt,
    expiresAt: acceptedAt + retentionMs,
  };
}
