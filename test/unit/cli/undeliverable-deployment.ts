import type { StubAnswer } from '../../support/aws-stub.ts';
import { attempt, messageView, policy, subscription as acme } from './delivery-views.ts';
import { json, NOT_FOUND } from './stub-api.ts';
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

export const subscription = { ...acme, id: 's1' };

/** The delivery of a notice as it is now. `acceptedAt`: of its message, if that is on record. */
type Standing = { status: string; attempts: number; retry?: StubAnswer; acceptedAt?: string };
export type Standings = Record<string, Standing>;

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
const OUTCOME = { subscriptionId: 's1', total: 1, delivered: 1, failed: 0, open: 0 };
const RECOVERY_ROUTES: Record<string, StubAnswer> = {
  'POST /v2/queues/orders/recoveries': json(RECOVERY),
  'GET /v2/queues/orders/recoveries/r1': json(RECOVERY),
  'GET /v2/queues/orders/recoveries/r1/outcomes': json({ known: true, subscriptions: [OUTCOME], links: [] }),
};

const routesOf = (id: string, { status, attempts, retry, acceptedAt }: Standing) => {
  const message = `/v2/queues/orders/messages/${id}`;
  const view = delivery(id, status, attempts);
  return {
    [`GET ${message}`]: acceptedAt === undefined ? NOT_FOUND : json({ ...messageView, id, acceptedAt }),
    [`GET ${message}/deliveries/s1`]: json({ ...view, policySource: 'delivery', planned: [] }),
    [`POST ${message}/deliveries/s1/retry`]: retry ?? json({ ...view, status: 'retrying' }, 202),
  };
};

/**
 * A deployment whose undeliverable queue holds a notice of each delivery, with the current states of the deliveries.
 * `subscribed`: the answer to a request for their subscription.
 */
export const deployed = async (
  standings: Standings,
  { bodies = Object.keys(standings).map((id) => notice(id)), subscribed = json(subscription) } = {},
) => {
  const retried: string[] = [];
  const others = { 'GET /v2/queues/orders/subscriptions/s1': subscribed, ...RECOVERY_ROUTES };
  const stub = await stubbedDeployment({
    bodies,
    onApi: (request) => {
      const [, id = '', retry] = /\/messages\/(\w+).*?(\/retry)?$/.exec(request) ?? [];
      if (retry !== undefined) retried.push(id);
      const standing = standings[id];
      const routes: Record<string, StubAnswer> = standing === undefined ? others : routesOf(id, standing);
      return routes[request] ?? NOT_FOUND;
    },
  });
  return { ...stub, retried };
};
