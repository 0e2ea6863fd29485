import * as z from 'zod';
import { newDelivery } from '../../../shared/domain/delivery/claim.ts';
import { type Delivery, type DeliveryKey, isOpen } from '../../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { isReceivable } from '../../../shared/domain/delivery/pull.ts';
import { MAX_BODY_IN_JOB } from '../../../shared/domain/message/body.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { acceptedVersion, VERSION_FOR_ONE } from '../../../shared/domain/message/version.ts';
import { computeRetention, retainedFor } from '../../../shared/domain/retention.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import { findAbsence, type SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { storeBody } from '../../../shared/steps/keep-message.ts';
import { type BodyRetention, bodyRetentionMs } from '../../../shared/steps/retention.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { propertySource } from '../../../shared/wire/json-slice.ts';
import { deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { bodyFault, publishedType } from '../fields.ts';
import { subscriptionKey } from '../paths.ts';
import { readOptionalJson } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';

export function addSubscriptionTestRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  addRoute({
    key: 'POST /v2/queues/{queue}/subscriptions/{subscription}/test',
    id: 'testSubscription',
    summary: 'Sends a test message to a subscription, and shows the result',
    description:
      'Waits up to 3 s for the first attempt. The filter and event types of the subscription are ignored.',
    body: optionalJsonBody(testRequestSchema),
    answers: {
      200: json('The first attempt has ended, or the delivery ended without one.', testAnswerSchema),
      202: json('The first attempt has not finished yet.', testAnswerSchema),
    },
    handle: async ({ params, body: { type }, raw, caller }) => {
      const data = dataIn(raw.body);
      const key = subscriptionKey(params);
      const { isTried, delivery } = await testSubscription(dependencies, { ...key, type, data });
      const { messageId } = delivery.key;
      audit(caller, { change: 'subscription_tested', ...key, messageId });
      const answer: z.input<typeof testAnswerSchema> = { delivery: deliveryView(delivery) };
      return jsonAnswer(answer, isTried ? 200 : 202);
    },
  });
}

/** Why a subscription receives no requests now. */
const REFUSALS = {
  disabled: 'the subscription is disabled and receives no requests; enable it first',
  subscription_unconfirmed: 'the subscriber has not confirmed the subscription yet and receives no requests',
};

/** The body of a test. */
const testRequestSchema = z.strictObject({
  type: publishedType.describe('The type of the test message. By default posthaste.test.').exactOptional(),
  // `bodyFault` checks the source text instead, which is passed on unchanged.
  data: z.unknown().describe('The data of the test message: any JSON value.').exactOptional(),
});

const testAnswerSchema = z.object({ delivery: deliveryViewSchema });

/** The source text of the data. @throws RefusedRequest */
function dataIn(body: Uint8Array): string | undefined {
  const data = propertySource(readOptionalJson(body), 'data');
  const faults = data === undefined ? [] : bodyFault(data, 'data');
  if (faults.length > 0) throw invalidFields(faults);
  return data;
}

/** `isTried`: an attempt is recorded, or the delivery ended without one. False: neither happened in time. */
type TestResult = { isTried: boolean; delivery: Delivery };

const TEST_TYPE = 'posthaste.test';
const TEST_DATA = '{"test":true}';

/**
 * How long a test occupies a function instance. Up to `apiRateLimit` (100) tests a second can do so, and the instances
 * count towards the account's concurrency, which deliveries need.
 */
const WAIT_MS = 3_000;
/** Seconds. */
const POLL_INTERVAL = { floor: 0.25, ceiling: 2, exponent: 1.5 };

/**
 * Sends a message to one subscription, ignoring its filter and event types, and waits for the first attempt. The
 * message is recorded and retried like any other. `data` is the source text of a JSON value.
 * @throws RefusedRequest; or when the message could not be recorded or sent
 */
async function testSubscription(
  context: ApiDependencies,
  request: SubscriptionKey & Record<'type' | 'data', string | undefined>,
): Promise<TestResult> {
  const { registry, clock, newId } = context;
  const { queue, subscriptionId, type = TEST_TYPE, data = TEST_DATA } = request;
  const startedAt = clock.now();
  const absence = findAbsence(await registry.findSubscription(queue, subscriptionId), startedAt);
  if (absence === 'disabled' || absence === 'subscription_unconfirmed')
    throw new RefusedRequest('conflict', REFUSALS[absence]);
  if (absence !== undefined) throw notFound('such subscription');
  const message: Message = { queue, id: newId(), type, timestamp: timeText(startedAt), data };
  const key = await publishToOne(context, message, subscriptionId, { isTest: true });
  return waitForAttempt(context, key, startedAt + WAIT_MS);
}

async function waitForAttempt(
  { deliveries, clock, settings }: ApiDependencies,
  key: DeliveryKey,
  deadline: number,
): Promise<TestResult> {
  const sentAt = clock.now();
  let interval = pollInterval(POLL_INTERVAL);
  for (;;) {
    const delivery = await deliveries.find(key);
    if (delivery !== undefined && isAttempted(delivery)) return { isTried: true, delivery };
    // Its subscriber decides when it is tried.
    if (delivery !== undefined && isReceivable(delivery)) return { isTried: false, delivery };
    const leftMs = deadline - clock.now();
    if (leftMs <= 0) {
      // The record that deliver will create when it receives the job.
      const { retentionMs } = settings;
      const pending = newDelivery({ key, acceptedAt: sentAt }, { now: sentAt, retentionMs });
      return { isTried: false, delivery: delivery ?? pending };
    }
    await clock.sleep(Math.min(interval.wait * 1000, leftMs));
    interval = interval.afterEmpty();
  }
}

function isAttempted(delivery: Delivery): boolean {
  return delivery.attempts.length > 0 || !isOpen(delivery);
}

/**
 * Sends a message to one subscription without dispatch: writes its record, then its job
 * (docs/architecture.md#deliveries-table). deliver decides whether the subscription accepts it.
 * @throws when the message could not be recorded or sent; a repeat with the same message id is safe
 */
export async function publishToOne(
  context: Pick<ChangeContext, 'clock' | 'deliveryQueue' | 'messageRecords' | 'payloads' | 'registry'> & {
    settings: BodyRetention;
  },
  message: Message,
  subscriptionId: string,
  more: Pick<DeliveryJob, 'isTest'> = {},
): Promise<DeliveryKey> {
  const { clock, registry, messageRecords, payloads, deliveryQueue, settings } = context;
  const { queue, id: messageId } = message;
  const now = clock.now();
  const [found, body] = await Promise.all([
    registry.findQueue(queue),
    storeBody(payloads, message, MAX_BODY_IN_JOB),
  ]);
  const retention = retainedFor(queueMember('_retention_days', found?.metadata), settings);
  const { record } = await messageRecords.accept({
    key: { queue, messageId },
    acceptedAt: now,
    listedAt: now,
    ...(message.type === undefined ? {} : { type: message.type }),
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    accepted: acceptedVersion(VERSION_FOR_ONE, message),
    ...(body.kind === 'stored' && { body }),
    ...retention,
    expiresAt:
      now +
      (body.kind === 'stored' ? bodyRetentionMs(settings, retention) : computeRetention(retention, settings)),
  });
  const key: DeliveryKey = { queue, messageId, subscriptionId, bucket: 0 };
  const { acceptedAt } = record;
  await deliveryQueue.send([{ kind: 'job', key, attempt: 1, acceptedAt, ...retention, body, ...more }]);
  return key;
}
