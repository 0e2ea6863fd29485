import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MIN_PER_SECOND } from '../../shared/domain/subscription/rate-limit.ts';
import { answerOf, putQueue, subscribe } from '../support/api-client.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publishMany } from '../support/sqs-messages.ts';

const WINDOW_SECONDS = 10;
const PER_SECOND = 5;
/** More than a window takes. */
const MESSAGES = 60;

const receiver = await receiverOfTests();

/** The maximum of attempts that start within any ten seconds. Each request says when its attempt started. */
const mostInAWindow = (requests: readonly ReceivedRequest[]): number => {
  const starts = requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  return Math.max(
    ...starts.map((from) => starts.filter((at) => at >= from && at < from + WINDOW_SECONDS).length),
  );
};

/** Makes the first attempt of every tenth message fail. */
const failSome = (path: string): void => {
  const seen = new Set<string>();
  receiver.script(path, ({ headers }) => {
    const id = String(headers['webhook-id']);
    if (!id.endsWith('0') || seen.has(id)) return { status: 200 };
    seen.add(id);
    return { status: 503 };
  });
};

describe('a rate limit on the deployed system, with ten concurrent function instances', () => {
  it('delays no other subscriber; once raised, it holds in any ten seconds while a backlog with retries drains', async () => {
    const queue = `limited-${randomUUID()}`;
    const [limited, free] = [`/${queue}/limited`, `/${queue}/free`];
    await putQueue(queue, { retries_with_no_delay: 1 });
    const id = await subscribe(queue, receiver.url(limited), { max_per_second: MIN_PER_SECOND });
    await subscribe(queue, receiver.url(free));
    failSome(limited);
    await publishMany(queue, MESSAGES);
    await receiver.waitFor(free, MESSAGES);
    expect(receiver.received(limited).length).toBeLessThanOrEqual(1);

    await answerOf('PATCH', `/v2/queues/${queue}/subscriptions/${id}`, {
      options: { max_per_second: PER_SECOND },
    });
    const drained = await receiver.waitFor(limited, MESSAGES + MESSAGES / 10);
    expect(mostInAWindow(drained)).toBeLessThanOrEqual(1.05 * PER_SECOND * WINDOW_SECONDS);
    expect(receiver.received(free)).toHaveLength(MESSAGES);
  });
});
