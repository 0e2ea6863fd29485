import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { seededChance, type Chance } from '../support/chance.ts';
import type { Answer, Receiver } from '../support/receiver.ts';

/** A request that a subscriber got for a message, with its response. */
export type Reply = {
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
  /** Undefined: no response. */
  status?: number;
  /** The minimum time before the response. */
  delayMs: number;
  /** The connection of the request. `closedAt`: when it closed, for any reason. */
  connection: { closedAt?: number };
};

type Subscriber = {
  policy: PartialRetryPolicy;
  /** The response to the nth request for a message, counted from 1. */
  answer: (nth: number, chance: Chance) => Answer;
};

const quick = {
  retries_with_no_delay: 1,
  minimum_delay_retries: 2,
  minimum_delay: 1,
  backoff_retries: 0,
  maximum_delay: 2,
  maximum_delay_retries: 12,
};

/** Two retries a second apart. */
const short = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 2,
  minimum_delay: 1,
  backoff_retries: 0,
  maximum_delay: 1,
  maximum_delay_retries: 0,
};

/** Its delays are above the threshold from which EventBridge Scheduler sends the wake-ups. */
const scheduled = { ...short, minimum_delay_retries: 1, maximum_delay: 5, maximum_delay_retries: 8 };

const subscribers = {
  steady: { policy: quick, answer: () => ({ status: 200 }) },
  recovering: { policy: scheduled, answer: (nth) => ({ status: nth <= 2 ? 503 : 200 }) },
  flaky: { policy: quick, answer: (_nth, chance) => ({ status: chance.happens(0.1) ? 503 : 200 }) },
  /** About half of its responses come after the attempt timeout. */
  slow: { policy: quick, answer: (_nth, chance) => ({ status: 200, delayMs: chance.int(1_000, 3_000) }) },
  refusing: { policy: quick, answer: () => ({ status: 400 }) },
  hanging: { policy: short, answer: () => ({ behaviour: 'hang' }) },
  // Not 503: behind an open circuit its deliveries would wait, not end.
  down: { policy: short, answer: () => ({ status: 500 }) },
} satisfies Record<string, Subscriber>;

type Kind = keyof typeof subscribers;

/** The queues, their shares of the messages, and the kinds of their subscribers. */
export const QUEUES: readonly { queue: string; share: number; kinds: readonly Kind[] }[] = [
  { queue: 'orders', share: 0.7, kinds: ['steady', 'flaky'] },
  { queue: 'accounts', share: 0.15, kinds: ['steady', 'recovering', 'refusing'] },
  { queue: 'reports', share: 0.1, kinds: ['slow', 'down'] },
  { queue: 'archive', share: 0.05, kinds: ['hanging'] },
];

export const pathOf = (queue: string, kind: Kind): string => `/${queue}/${kind}`;
export const policyOf = (kind: Kind): PartialRetryPolicy => subscribers[kind].policy;

/** The subscribers' log of requests and responses, by path and message. */
export type ReceiversLog = { repliesOf: (path: string, messageId: string) => readonly Reply[] };

/** Scripts every subscriber at the receiver and logs their requests. */
export const listen = (receiver: Receiver, seed: number): ReceiversLog => {
  const log = new Map<string, Reply[]>();
  const chance = seededChance(seed);
  for (const { queue, kinds } of QUEUES) {
    for (const kind of kinds) {
      const path = pathOf(queue, kind);
      const subscriber: Subscriber = subscribers[kind];
      receiver.script(path, ({ headers, arrivedAt, connection }) => {
        const name = `${path} ${String(headers['webhook-id'])}`;
        const replies = log.get(name) ?? [];
        const answer = subscriber.answer(replies.length + 1, chance);
        log.set(name, [...replies, { at: arrivedAt, connection, ...replyOf(answer) }]);
        return answer;
      });
    }
  }
  return { repliesOf: (path, messageId) => log.get(`${path} ${messageId}`) ?? [] };
};

const replyOf = ({ status, delayMs = 0 }: Answer): Pick<Reply, 'status' | 'delayMs'> => ({
  ...(status === undefined ? {} : { status }),
  delayMs,
});
