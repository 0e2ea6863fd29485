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

const OF_MESSAGE = /^(\w+) \/v2\/queues\/orders\/messages\/(\w+)(\/deliveries\/s1)?(\/retry)?$/;

/**
 * A deployment whose undeliverable queue holds a notice of each delivery, with the current states of the deliveries.
 * `subscribed`: the answer to a request for their subscription.
 */
export const deployed = async (
  standings: Standings,
  { bodies = Object.keys(standings).map((id) => notice(id)), subscribed = json(subscription) } = {},
) => {
  const retried: string[] = [];
  const stub = await stubbedDeployment({
    bodies,
    onApi: (request) => {
      if (request === 'GET /v2/queues/orders/subscriptions/s1') return subscribed;
      const [, method, id = '', ofDelivery, retry] = OF_MESSAGE.exec(request) ?? [];
      const standing = standings[id];
      if (standing === undefined) return RECOVERY_ROUTES[request] ?? NOT_FOUND;
      const { status, attempts, acceptedAt } = standing;
      if (ofDelivery === undefined)
        return acceptedAt === undefined ? NOT_FOUND : json({ ...messageView, id, acceptedAt });
      const view = delivery(id, status, attempts);
      if (method === 'GET') return json({ ...view, policySource: 'delivery', planned: [] });
      if (retry !== undefined) retried.push(id);
      return standing.retry ?? json({ ...view, status: 'retrying' }, 202);
    },
  });
  return { ...stub, retried };
};
