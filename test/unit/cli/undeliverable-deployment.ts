import type { StubAnswer } from '../../support/aws-stub.ts';
import { attempt, policy } from './delivery-views.ts';
import { posthaste } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';

const delivery = (messageId: string, status: string, attempts: number) => ({
  queue: 'orders',
  messageId,
  subscriptionId: 's1',
  status,
  attempts: Array.from({ length: attempts }, (_, index) => ({ ...attempt, number: index + 1 })),
  policy,
});
export const notice = (messageId: string, attempts = 2): string =>
  JSON.stringify({ ...delivery(messageId, 'exhausted', attempts), lastStatus: 503, data: { big: 1 } });

export const subscription = {
  id: 's1',
  source: 'orders',
  subscriber: 'https://acme.example/hook',
  ttl: null,
  age: 1,
  options: {},
  confirmed: true,
};

export type Standing = { status: string; attempts: number; retry?: StubAnswer; acceptedAt?: string };

const MESSAGE = {
  queue: 'orders',
  duplicates: 0,
  matched: 1,
  filtered: 0,
  deliveries: { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 0, cancelled: 0 },
  bodyKept: false,
};

export const RECOVERY = {
  id: 'r1',
  queue: 'orders',
  since: '2026-01-01T00:00:00.000Z',
  until: '2026-01-02T00:00:00.000Z',
  state: 'completed',
  found: 1,
  reopened: 1,
  skipped: {},
  createdAt: '2026-01-02T00:00:00.000Z',
  updatedAt: '2026-01-02T00:00:00.000Z',
};
const OUTCOMES = {
  known: true,
  subscriptions: [{ subscriptionId: 's1', total: 1, delivered: 1, failed: 0, open: 0 }],
  links: [],
};
const RECOVERY_ROUTES: Partial<Record<string, object>> = {
  'POST /v2/queues/orders/recoveries': RECOVERY,
  'GET /v2/queues/orders/recoveries/r1': RECOVERY,
  'GET /v2/queues/orders/recoveries/r1/outcomes': OUTCOMES,
};

/** A recovery, a message or the subscription. */
const otherOf = (
  request: string,
  standings: Record<string, Standing>,
  subscribed: StubAnswer,
): StubAnswer | undefined => {
  if (request === 'GET /v2/queues/orders/subscriptions/s1') return subscribed;
  const [, id = ''] = /^GET \/v2\/queues\/orders\/messages\/(\w+)$/.exec(request) ?? [];
  const acceptedAt = standings[id]?.acceptedAt;
  const other = acceptedAt === undefined ? RECOVERY_ROUTES[request] : { ...MESSAGE, id, acceptedAt };
  return other && json(other);
};

/**
 * A deployment whose undeliverable queue holds a notice of each delivery, with the current states of the deliveries.
 * `subscribed`: the answer to a request for their subscription.
 */
export const deployed = async (
  standings: Record<string, Standing>,
  bodies = Object.keys(standings).map((id) => notice(id)),
  subscribed: StubAnswer = json(subscription),
) => {
  const retried: string[] = [];
  const stub = await stubbedDeployment({
    bodies,
    sentAt: Date.now() - 60_000,
    onApi: (request) => {
      const other = otherOf(request, standings, subscribed);
      if (other !== undefined) return other;
      const [, method, id = '', retry] =
        /^(\w+) \/v2\/queues\/orders\/messages\/(\w+)\/deliveries\/s1(\/retry)?$/.exec(request) ?? [];
      const standing = standings[id];
      if (standing === undefined) return refusal(404, 'not_found', 'there is no such delivery');
      const view = delivery(id, standing.status, standing.attempts);
      if (method === 'GET') return json({ ...view, policySource: 'delivery', planned: [] });
      if (retry !== undefined) retried.push(id);
      return standing.retry ?? json({ ...view, status: 'retrying' }, 202);
    },
  });
  const posthasteThere = (...args: string[]) =>
    posthaste([...args, '--deployment', 'Posthaste'], { env: stub.environment });
  const run = (...args: string[]) => posthasteThere('redrive', 'undeliverable', ...args);
  return { ...stub, retried, run, posthaste: posthasteThere };
};
