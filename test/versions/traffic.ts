import type { LambdaClient } from '@aws-sdk/client-lambda';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import type { Chance } from '../support/chance.ts';
import type { Answer, Receiver } from '../support/receiver.ts';
import type { Reply } from '../chaos/subscribers.ts';
import { type ApiCall, callApi, type Fleet, OLD_USER_AGENT, type Version } from './two-versions.ts';

type Kind = {
  policy: object;
  options?: object;
  /** How its deliveries end; a cancelled one aside. */
  ends: 'delivered' | 'rejected' | 'exhausted';
  answer: (nth: number, chance: Chance) => Answer;
};

const policy = {
  retries_with_no_delay: 1,
  minimum_delay_retries: 2,
  minimum_delay: 1,
  backoff_retries: 0,
  maximum_delay: 2,
  maximum_delay_retries: 8,
};
/** Its last delays are above the threshold from which EventBridge Scheduler sends the wake-ups. */
const scheduled = { ...policy, minimum_delay_retries: 0, maximum_delay: 5 };
const short = { ...policy, minimum_delay_retries: 1, maximum_delay_retries: 0 };

const KINDS = {
  steady: { policy, ends: 'delivered', answer: () => ({ status: 200 }) },
  flaky: {
    policy,
    ends: 'delivered',
    answer: (_nth, chance) => ({ status: chance.happens(0.2) ? 500 : 200 }),
  },
  recovering: {
    policy: scheduled,
    ends: 'delivered',
    answer: (nth) => ({ status: nth <= 2 ? 500 : 200 }),
  },
  limited: { policy, options: { max_per_second: 5 }, ends: 'delivered', answer: () => ({ status: 200 }) },
  refusing: { policy: short, ends: 'rejected', answer: () => ({ status: 400 }) },
  down: { policy: short, ends: 'exhausted', answer: () => ({ status: 500 }) },
} satisfies Record<string, Kind>;

/** `wide` has several chunks. The subscription of `leaving` is deleted while its deliveries are open. */
const QUEUES: Readonly<Record<string, readonly (keyof typeof KINDS)[]>> = {
  orders: ['steady', 'flaky', 'recovering', 'limited', 'refusing', 'down'],
  wide: Array.from({ length: 24 }, (_, n) => (n % 8 === 7 ? 'flaky' : 'steady')),
  leaving: ['down'],
};

export const QUEUE_NAMES = [...Object.keys(QUEUES), 'shelf'];

/** A subscription and the log of its requests by message. */
export type Listener = {
  queue: string;
  path: string;
  subscriptionId: string;
  kind: Kind;
  replies: Map<string, Reply[]>;
};

/** Chooses a version for each call. */
export type Api = (call: ApiCall) => Promise<unknown>;

export function apiOf(lambda: LambdaClient, chosen: () => Fleet): Api {
  return (call) => callApi(lambda, chosen(), call);
}

const created = z.object({ subscription_id: z.string() });

/** Creates queues and subscriptions, and scripts the subscribers. */
export async function subscribeAll(
  api: Api,
  receiver: Receiver,
  { chance, onRequest }: { chance: Chance; onRequest: (by: Version) => void },
): Promise<Listener[]> {
  const listeners: Listener[] = [];
  for (const [queue, kinds] of Object.entries(QUEUES)) {
    await api({ method: 'PUT', path: `/v2/queues/${queue}`, body: {} });
    for (const [index, name] of kinds.entries()) {
      const kind: Kind = KINDS[name];
      const path = `/${queue}/${name}/${index}`;
      const body = {
        subscriber: receiver.url(path),
        options: { _retry_policy: kind.policy, ...kind.options },
      };
      const answer = await api({ method: 'POST', path: `/v2/queues/${queue}/subscriptions`, body });
      const { subscription_id: subscriptionId } = created.parse(answer);
      const replies = new Map<string, Reply[]>();
      receiver.script(path, ({ headers, arrivedAt, connection }) => {
        onRequest(headers['user-agent'] === OLD_USER_AGENT ? 'old' : 'new');
        const id = String(headers['webhook-id']);
        const earlier = replies.get(id) ?? [];
        const { status = 200 } = kind.answer(earlier.length + 1, chance);
        replies.set(id, [...earlier, { at: arrivedAt, connection, status, delayMs: 0 }]);
        return { status };
      });
      listeners.push({ queue, path, subscriptionId, kind, replies });
    }
  }
  return listeners;
}

export type Published = { queue: string; messageId: string };

/** Publishes messages through the API; some twice, as by a producer that got no response. */
export async function publish(
  api: Api,
  chance: Chance,
  { first, count }: { first: number; count: number },
): Promise<Published[]> {
  const published: Published[] = [];
  for (let number = first; number < first + count; number++) {
    const queue = chance.pick(['orders', 'orders', 'orders', 'wide', 'leaving', 'shelf', 'shelf']);
    const id = `m${number}`;
    // Small enough for the record, too large for the record, too large for the job.
    const body = { text: 'x'.repeat(chance.pick([200, 200, 200, 12_000, 80_000])) };
    const path = `/v2/queues/${queue}/messages`;
    for (let time = chance.happens(0.1) ? 2 : 1; time > 0; time--)
      await api({ method: 'POST', path, body: { messages: [{ id, body }] } });
    published.push({ queue, messageId: id });
    await pause(50);
  }
  return published;
}

/** Calls an operator might make, at random: what one version wrote is read and changed by the other. */
export async function operate(
  api: Api,
  chance: Chance,
  {
    published,
    listeners,
    cancelled,
  }: { published: readonly Published[]; listeners: readonly Listener[]; cancelled: Set<string> },
): Promise<string> {
  const { queue, messageId } = chance.pick(published.filter((one) => one.queue !== 'shelf'));
  const there = listeners.filter((one) => one.queue === queue);
  const { subscriptionId } = chance.pick(there);
  const message = `/v2/queues/${queue}/messages/${messageId}`;
  const delivery = `${message}/deliveries/${subscriptionId}`;
  const now = Date.now();
  const window = { since: new Date(now - 60_000).toISOString(), until: new Date(now).toISOString() };
  // Refused where the delivery is not there yet, was cancelled, or has another state.
  const refused = [404, 409];
  const calls: Record<string, () => Promise<unknown>> = {
    retry: () => api({ method: 'POST', path: `${delivery}/retry`, refused }),
    cancel: async () => {
      cancelled.add(`${messageId} ${subscriptionId}`);
      await api({ method: 'POST', path: `${delivery}/cancel`, refused });
    },
    recover: () => api({ method: 'POST', path: `/v2/queues/${queue}/recoveries`, body: window, refused }),
    show: () => api({ method: 'GET', path: delivery, refused }),
    explain: () => api({ method: 'GET', path: `${message}/explain`, refused }),
    messages: () => api({ method: 'GET', path: `/v2/queues/${queue}/messages` }),
    deliveries: () => api({ method: 'GET', path: `/v2/queues/${queue}/deliveries?status=exhausted` }),
    subscriptions: () => api({ method: 'GET', path: `/v2/queues/${queue}/subscriptions` }),
    recoveries: () => api({ method: 'GET', path: `/v2/queues/${queue}/recoveries` }),
    rename: () =>
      api({
        method: 'PATCH',
        path: `/v2/queues/${queue}/subscriptions/${subscriptionId}`,
        body: { name: `n${now}` },
        refused,
      }),
  };
  const name = chance.pick(Object.keys(calls));
  await calls[name]?.();
  return name;
}

const received = z.object({
  deliveries: z.array(z.object({ receipt: z.string(), messageId: z.string() })),
});

/** What the subscriber by pull does with a delivery. One that it forgets is noticed 20 s later at the earliest. */
type Treatment = 'ack' | 'nack' | 'forget';
const TREATMENTS: readonly Treatment[] = ['ack', 'ack', 'ack', 'ack', 'nack', 'forget'];

/** Creates a subscription by pull. `receive` receives once, and treats each delivery that came in one of these ways. */
export async function subscribeByPull(api: Api, chance: Chance) {
  await api({ method: 'PUT', path: '/v2/queues/shelf', body: {} });
  const path = '/v2/queues/shelf/subscriptions';
  const body = { subscriber: 'pull:shelf', options: { _retry_policy: policy } };
  const { subscription_id: id } = created.parse(await api({ method: 'POST', path, body }));
  const acknowledged = new Set<string>();
  const again: string[] = [];
  const receive = async (treatments = TREATMENTS): Promise<void> => {
    const base = `${path}/${id}`;
    const answer = await api({ method: 'POST', path: `${base}/receive`, body: { max: 5, lease_seconds: 5 } });
    for (const { receipt, messageId } of received.parse(answer).deliveries) {
      if (acknowledged.has(messageId)) again.push(messageId);
      const what = chance.pick(treatments);
      if (what === 'forget') continue;
      await api({ method: 'POST', path: `${base}/${what}`, body: { receipt } });
      if (what === 'ack') acknowledged.add(messageId);
    }
  };
  return { subscriptionId: id, receive, acknowledged, again };
}

export type PullSubscriber = Awaited<ReturnType<typeof subscribeByPull>>;
