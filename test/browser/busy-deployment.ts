import * as z from 'zod';
import type { Attempt, AttemptResult } from '../../shared/domain/delivery/attempt.ts';
import { hashToBucket } from '../../shared/domain/delivery/fan-out.ts';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { EventFault } from '../../shared/domain/event-type/event-fault.ts';
import { buildRecoveryId, newRecovery } from '../../shared/domain/recovery/recovery.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { retrySchedule, type Retry } from '../../shared/domain/retry/schedule.ts';
import { aDelivery, anAttempt, answered, type DeliveryFields } from '../support/delivery-builders.ts';
import { addDuration, noCounters } from '../../shared/domain/delivery/statistics.ts';
import { aMessage } from '../support/builders.ts';
import type { ServedApi } from './served-api.ts';

const MINUTE = 60_000;

const SLOW: RetryPolicy = {
  ...DEFAULT_RETRY_POLICY,
  retries_with_no_delay: 1,
  minimum_delay_retries: 2,
  minimum_delay: 60,
  maximum_delay: 900,
  backoff_retries: 8,
  retry_backoff_function: 'geometric',
  maximum_delay_retries: 6,
};

const created = z.object({ subscription_id: z.string() });

/** Creates a subscription and returns its id. */
export const subscribe = async (api: ServedApi, queue: string, subscription: object): Promise<string> => {
  const { status, body } = await api.call('POST', `/v2/queues/${queue}/subscriptions`, subscription);
  if (status !== 201) throw new Error(`${queue}: ${status} ${JSON.stringify(body)}`);
  return created.parse(body).subscription_id;
};

/** A message with its deliveries. */
type Example = {
  queue: string;
  messageId: string;
  type?: string;
  acceptedAt: number;
  filtered?: number;
  eventFault?: EventFault;
  data?: string;
  deliveries: readonly (Omit<DeliveryFields, 'key'> & { subscriptionId: string })[];
};

export const record = async (
  { messageRecords, deliveries, registry }: ServedApi,
  { queue, messageId, acceptedAt, filtered = 0, data, deliveries: all, ...noted }: Example,
): Promise<void> => {
  const message = aMessage({ queue, id: messageId, data: data ?? '{"total":12345678901234567890}' });
  const key = { queue, messageId };
  const { createdAt: queueCreatedAt = 0 } = (await registry.findQueue(queue)) ?? {};
  await messageRecords.accept({
    key,
    acceptedAt,
    listedAt: acceptedAt,
    ...noted,
    matched: all.length,
    filtered,
    duplicates: 0,
    buckets: 1,
    queueCreatedAt,
    expiresAt: acceptedAt + 30 * 86_400_000,
    ...(data !== undefined && { body: { kind: 'inline', message } }),
  });
  for (const { subscriptionId, ...more } of all) {
    const deliveryKey = { ...key, subscriptionId, bucket: hashToBucket(subscriptionId, 1) };
    const create = aDelivery({ acceptedAt, updatedAt: acceptedAt, ...more, key: deliveryKey });
    await deliveries.write({ name: 'open', key: deliveryKey, expect: { kind: 'absent' }, create });
  }
};

const success = (acceptedAt: number, durationMs: number): DeliveryFields => ({
  status: 'delivered',
  attempts: [
    anAttempt({ startedAt: acceptedAt + 40, durationMs, outcome: 'delivered', result: answered(204) }),
  ],
});

type Failing = Pick<Delivery, 'attempts' | 'policy' | 'next'>;

const mechanismFor = (delaySeconds: number): 'scheduler' | 'sqs_delay' =>
  delaySeconds >= 90 ? 'scheduler' : 'sqs_delay';

const resultOf = (number: number): AttemptResult =>
  number % 4 === 3
    ? { kind: 'unanswered', error: 'timeout' }
    : answered(503, number === 1 ? 'upstream connect error' : `try again (${number})`);

const failed = (number: number, dueAt: number, retry: Retry | undefined): Attempt =>
  anAttempt({
    number,
    ...(retry !== undefined && {
      phase: retry.phase,
      dueAt: Math.ceil(dueAt),
      by: mechanismFor(retry.delaySeconds),
    }),
    startedAt: Math.ceil(dueAt) + (retry === undefined ? 0 : 20 + ((number * 137) % 900)),
    durationMs: 80 + ((number * 211) % 1400),
    result: resultOf(number),
  });

/** Failed attempts, each started soon after its due time, up to `now`, and the next planned attempt if there is one. */
export const failures = (from: number, now: number, policy: RetryPolicy = SLOW): Failing => {
  const schedule = retrySchedule(policy);
  const attempts: Attempt[] = [];
  let dueAt = from;
  while (dueAt <= now && attempts.length <= schedule.length) {
    const attempt = failed(attempts.length + 1, dueAt, schedule[attempts.length - 1]);
    attempts.push(attempt);
    dueAt = attempt.startedAt + attempt.durationMs + delayAfter(schedule, attempt.number) * 1000;
  }
  return { attempts, policy, next: nextIn(schedule, attempts.length + 1, Math.ceil(dueAt)) };
};

const delayAfter = (schedule: readonly Retry[], number: number): number =>
  schedule[number - 1]?.delaySeconds ?? 0;

const nextIn = (schedule: readonly Retry[], number: number, dueAt: number): Delivery['next'] => {
  const retry = schedule[number - 2];
  return retry && { number, phase: retry.phase, dueAt, by: mechanismFor(retry.delaySeconds) };
};

/** Fills a deployment with healthy and failing subscribers and retried deliveries. Returns the ids of one queue. */
export const busyDeployment = async (api: ServedApi) => {
  const now = Date.now();
  const policy = {
    retries_with_no_delay: 1,
    minimum_delay: 60,
    maximum_delay: 900,
    retry_backoff_function: 'geometric',
  };
  await api.registry.ensureQueue({ name: 'orders', metadata: {}, createdAt: now - 86_400_000 });
  await api.call('PUT', '/v2/queues/orders', { team: 'checkout', _retry_policy: policy });
  await api.call('PUT', '/v2/queues/invoices', { team: 'billing' });
  await api.call('PUT', '/v2/queues/stock.eu-1', {});
  const warehouse = await subscribe(api, 'orders', {
    subscriber: 'https://warehouse.example.com/hooks/orders',
  });
  const billing = await subscribe(api, 'orders', {
    subscriber: 'https://billing.example.com/webhooks',
    options: {
      _retry_policy: { maximum_delay: 3600 },
      post_headers: { 'x-api-key': 'abc', 'x-team': 'billing' },
    },
  });
  const analytics = await subscribe(api, 'orders', {
    subscriber: 'https://analytics.example.net/ingest/v3/orders',
    options: { event_types: ['order.created'], filter: { total: [{ numeric: ['>', 100] }] } },
  });
  const ledger = await subscribe(api, 'invoices', { subscriber: 'https://ledger.example.org/in' });
  await subscribe(api, 'stock.eu-1', { subscriber: 'https://shelf.example.org/' });
  await api.registry.changeHealth('orders', billing, {
    kind: 'begin',
    failing: { since: now - 25 * MINUTE, failures: 1 },
  });
  await api.registry.disable('invoices', ledger, { reason: 'gone', at: now - 90 * MINUTE }, undefined);

  const recovery = {
    ...newRecovery(
      buildRecoveryId(now - 3 * MINUTE, 'e3b0c442'),
      { queue: 'orders', since: now - 300 * MINUTE, until: now - 3 * MINUTE },
      { now: now - 3 * MINUTE, retentionMs: 30 * 86_400_000 },
    ),
    ...{ found: 12, reopened: 8, skipped: { message_expired: 4 }, pages: 1 },
  };
  await countMinutes(api, 'orders', now);
  for (let index = 0; index < 26; index += 1) {
    const acceptedAt = now - index * 68_000 - 4_000;
    const isCreated = index % 3 !== 0;
    const isKept = index < FAILING || index === EXHAUSTED;
    await record(api, {
      queue: 'orders',
      messageId: `order-${4711 - index}`,
      type: isCreated ? 'order.created' : 'order.changed',
      acceptedAt,
      filtered: isCreated ? 0 : 1,
      ...(isKept && { data: `{"id":"order-${4711 - index}","total":12345678901234567890,"items":["A-1"]}` }),
      deliveries: [
        { subscriptionId: warehouse, ...success(acceptedAt, 40 + ((index * 83) % 240)) },
        {
          subscriptionId: billing,
          ...atBilling(index, acceptedAt, now),
          recoveries: isRecovered(index) ? [recovery.id] : [],
        },
        ...(isCreated ? [{ subscriptionId: analytics, ...atAnalytics(index, acceptedAt) }] : []),
      ],
    });
  }
  await record(api, {
    queue: 'invoices',
    messageId: 'invoice-9',
    acceptedAt: now - 2 * MINUTE,
    deliveries: [{ subscriptionId: ledger, status: 'cancelled', reason: 'disabled' }],
  });
  await api.recoveries.create(recovery);
  await api.recoveries.keepPage({ ...recovery, batch: recoveredKeys(billing) });
  return { queue: 'orders', warehouse, billing, analytics };
};

/** At billing, the newest messages are being retried and one ran out of retries. */
const FAILING = 9;
const EXHAUSTED = 12;
const REJECTED = 7;

const recoveredKeys = (subscriptionId: string): DeliveryKey[] =>
  Array.from({ length: 26 }, (_, index) => index)
    .filter(isRecovered)
    .map((index) => ({
      ...{ queue: 'orders', messageId: `order-${4711 - index}`, subscriptionId },
      bucket: hashToBucket(subscriptionId, 1),
    }));

/** One is open, one failed again, and six were delivered. */
const isRecovered = (index: number): boolean => index >= FAILING - 1 && index < FAILING + 7;

const atBilling = (index: number, acceptedAt: number, now: number): DeliveryFields => {
  if (index < FAILING) return { status: 'retrying', ...failures(acceptedAt + 50, now) };
  if (index !== EXHAUSTED) return success(acceptedAt, 190 + ((index * 61) % 700));
  return { status: 'exhausted', reason: 'retries_exhausted', ...failures(now - 200 * MINUTE, now) };
};

const atAnalytics = (index: number, acceptedAt: number): DeliveryFields =>
  index === REJECTED ? rejection(acceptedAt) : success(acceptedAt, 22 + index);

const rejection = (acceptedAt: number): DeliveryFields => ({
  status: 'rejected',
  reason: 'http_422',
  attempts: [
    anAttempt({
      ...{ startedAt: acceptedAt + 30, durationMs: 61, outcome: 'rejected' },
      result: answered(422, '{"error":"total is not a number"}'),
    }),
  ],
});

/** Counts some minutes of the queue, five of which had a failing subscriber. */
const countMinutes = async ({ statistics }: ServedApi, queue: string, now: number): Promise<void> => {
  for (let ago = 55; ago > 0; ago -= 1) {
    const counters = noCounters();
    const { counts, timeToDelivery, response } = counters;
    const isBad = ago > 24 && ago < 30;
    counts.messages = 20 + Math.round(12 * Math.sin(ago / 7));
    counts.matched = counts.messages * 3;
    counts.attempts = counts.matched;
    counts.attemptsFailed = isBad ? 14 : Number(ago % 9 === 0);
    counts.exhausted = Number(isBad);
    counts.delivered = counts.attempts - counts.attemptsFailed;
    for (let one = 0; one < counts.delivered; one += 1) {
      addDuration(response, 40 + ((one * 37) % 160) + (isBad ? 900 : 0));
      addDuration(timeToDelivery, 70 + ((one * 53) % 240) + (isBad ? 20_000 : 0));
    }
    const at = Math.floor(now / MINUTE) * MINUTE - ago * MINUTE;
    await statistics.add({ queue, at, counters, expiresAt: now + MINUTE });
  }
};
