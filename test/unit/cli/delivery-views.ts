import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { json, type StubRoutes } from './stub-api.ts';

export const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
export const AT = '2026-01-01T00:00:00.000Z';
export const attempt = {
  number: 1,
  round: 1,
  phase: 'initial',
  startedAt: AT,
  durationMs: 5,
  outcome: 'failed',
  statusCode: 503,
};
export const policy = DEFAULT_RETRY_POLICY;
const key = { queue: 'orders', messageId: 'm1', subscriptionId: ID };

export const retrying = {
  ...key,
  status: 'retrying',
  attempts: [attempt],
  nextAttemptAt: AT,
  nextAttempt: { number: 2, phase: 'pre_backoff', dueAt: AT, by: 'sqs_delay' },
  policy,
};
export const pending = {
  ...key,
  status: 'pending',
  attempts: [],
  policy: null,
};
export const delivered = {
  ...key,
  status: 'delivered',
  attempts: [attempt, { ...attempt, number: 2, outcome: 'delivered', statusCode: 200 }],
  policy,
};
export const detail = (view: object) => json({ ...view, policy, policySource: 'delivery', planned: [] });
export const listed = {
  ...key,
  status: 'retrying',
  acceptedAt: AT,
  attemptCount: 1,
  lastAttempt: { number: 1, startedAt: AT, outcome: 'failed', statusCode: 503 },
  nextAttemptAt: AT,
};
export const page = (...deliveries: unknown[]) => json({ deliveries, links: [] });

export const message = {
  queue: 'orders',
  id: 'm1',
  acceptedAt: AT,
  duplicates: 0,
  matched: 3,
  filtered: 0,
  bodyKept: false,
};
export const messageView = {
  ...message,
  deliveries: { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 0, cancelled: 0 },
};

export const subscription = {
  id: ID,
  source: 'orders',
  name: 'ACME',
  subscriber: 'https://example.com/hook',
  ttl: null,
  age: 1,
  options: {},
  confirmed: true,
};
export const SUBSCRIPTIONS: StubRoutes = {
  'GET /v2/queues/orders/subscriptions': json({ subscriptions: [subscription], links: [] }),
  [`GET /v2/queues/orders/subscriptions/${ID}`]: json(subscription),
};

export const OF_QUEUE = 'GET /v2/queues/orders/deliveries';
export const OF_MESSAGE = 'GET /v2/queues/orders/messages/m1/deliveries';
export const ONE = `/v2/queues/orders/messages/m1/deliveries/${ID}`;
