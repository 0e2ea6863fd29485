import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ATTEMPT_TIMEOUT_SECONDS, invocationMs } from '../../shared/domain/retry/attempt-duration.ts';
import { visibilityTimeout } from '../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../shared/domain/recovery/operation.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { recoveryViewSchema } from '../../shared/wire/views/recovery.ts';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy, NO_RETRIES } from '../support/builders.ts';
import { seededChance, type Chance } from '../support/chance.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { killWorkersIn } from '../support/processes.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publishMany } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const ROUNDS = 10;
const MESSAGES = 10;
const SUBSCRIBERS = 12;
/** Deliveries exhausted before the round and recovered in it: more than operate reopens in one page. */
const TO_RECOVER = 30;

/** Requests of a round without retries, minus one, so that work is in progress at the kill. */
const MAX_UNTIL_KILL = MESSAGES * SUBSCRIBERS + TO_RECOVER - 1;

/** The documented bound (docs/concepts.md, "Crashes"). */
const WITHIN_MS = 60_000;

/** Random by default; POSTHASTE_KILL_SEED repeats a run. The seed does not determine the timing of the functions. */
const seed = Number(process.env['POSTHASTE_KILL_SEED'] ?? randomInt(2 ** 31));

const since = new Date().toISOString();
const figures: string[] = [];

const receiver = await receiverOfTests();

beforeAll(async () => {
  const { deliveryQueueUrl, retryQueueUrl, operationQueueUrl } = deployment.endpoints;
  // Restores the default visibility timeouts, because the test deployment has shorter ones.
  const deliver = visibilityTimeout(invocationMs(1_000 * ATTEMPT_TIMEOUT_SECONDS.default) / 1_000);
  await hideFor(deliveryQueueUrl, deliver);
  await hideFor(retryQueueUrl, deliver);
  await hideFor(operationQueueUrl, visibilityTimeout(OPERATE_TIMEOUT_SECONDS));
});

afterAll(() => {
  process.stdout.write(`POSTHASTE_KILL_SEED=${seed}\n${figures.join('\n')}\n`);
});

const hideFor = (QueueUrl: string, seconds: number): Promise<unknown> =>
  deployment.sqs.send(
    new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: String(seconds) } }),
  );

/** Repeats a request until it succeeds, because the kill can also hit the api function. */
const answerOf = (method: string, path: string, body?: unknown): Promise<unknown> =>
  eventually(
    `${method} ${path}`,
    async () => {
      const response = await callApi(method, path, body);
      return response.ok ? await response.json() : undefined;
    },
    WITHIN_MS,
  );

const deliveredOf = async (queue: string): Promise<number> =>
  booksViewSchema.parse(await answerOf('GET', `/v2/queues/${queue}/books?since=${since}`)).books.delivered;

/** Creates a queue with exhausted deliveries to a subscriber that is available again. */
const exhaustedQueue = async (): Promise<string> => {
  // 500 opens no circuit, behind which deliveries wait.
  const { queue, path } = await subscribedQueue(receiver, { policy: NO_RETRIES, answers: [{ status: 500 }] });
  await publishMany(queue, TO_RECOVER);
  await eventually('the exhausted deliveries', async () => {
    const { books } = booksViewSchema.parse(
      await answerOf('GET', `/v2/queues/${queue}/books?since=${since}`),
    );
    return books.exhausted === TO_RECOVER || undefined;
  });
  receiver.script(path, [{ status: 200, delayMs: 100 }]);
  return queue;
};

/** Creates a queue with slow subscribers, so that kills hit requests. A third fails each message once or twice. */
const subscribed = async (chance: Chance): Promise<string> => {
  const queue = `killed-${randomUUID()}`;
  await putQueue(queue, aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 1, maximum_delay: 1 }));
  for (let index = 0; index < SUBSCRIBERS; index += 1) {
    const path = `/${queue}/${index}`;
    const failures = index % 3 === 0 ? chance.int(1, 2) : 0;
    const delayMs = chance.int(50, 900);
    const asked = new Map<unknown, number>();
    receiver.script(path, ({ headers }) => {
      const count = (asked.get(headers['webhook-id']) ?? 0) + 1;
      asked.set(headers['webhook-id'], count);
      return { status: count <= failures ? 500 : 200, delayMs };
    });
    await subscribe(queue, receiver.url(path));
  }
  return queue;
};

const recover = async (queue: string): Promise<string> => {
  const window = { since, until: new Date().toISOString() };
  return recoveryViewSchema.parse(await answerOf('POST', `/v2/queues/${queue}/recoveries`, window)).id;
};

const isRecovered = async (queue: string, id: string): Promise<boolean> => {
  const { state } = recoveryViewSchema.parse(await answerOf('GET', `/v2/queues/${queue}/recoveries/${id}`));
  return state === 'completed' && (await deliveredOf(queue)) === TO_RECOVER;
};

/** Arrival times of the requests for these queues, in milliseconds since the epoch. */
const requestsTo = (...queues: string[]): number[] =>
  receiver
    .received()
    .filter(({ path }) => queues.some((queue) => path.startsWith(`/${queue}`)))
    .map(({ arrivedAt }) => arrivedAt);

const killAfter = async (requests: number, requestCount: () => number) => {
  while (requestCount() < requests) await pause(5);
  const killed = await killWorkersIn(inject('folder'));
  return { killed, killedAt: Date.now() };
};

const rounds = Array.from({ length: ROUNDS }, (_, index) => {
  const chance = seededChance(seed + index);
  return { round: index + 1, chance, after: chance.int(0, MAX_UNTIL_KILL) };
});

describe(`after kill -9 of every function process at a random moment (seed ${seed})`, () => {
  it.each(rounds)(
    'the last delivery succeeds within a minute: round $round, killed after $after requests',
    async ({ round, chance, after }) => {
      const [toRecover, queue] = [await exhaustedQueue(), await subscribed(chance)];
      const killing = killAfter(after, () => requestsTo(toRecover, queue).length - TO_RECOVER);
      await publishMany(queue, MESSAGES / 2, { prefix: 'first' });
      const recovery = await recover(toRecover);
      await pause(chance.int(0, 2_000));
      await publishMany(queue, MESSAGES / 2, { prefix: 'second' });

      const { killed, killedAt } = await killing;
      expect(killed).toBeGreaterThan(0);
      await eventually(
        'the last delivery',
        async () =>
          ((await deliveredOf(queue)) === MESSAGES * SUBSCRIBERS &&
            (await isRecovered(toRecover, recovery))) ||
          undefined,
        2 * WITHIN_MS,
      );
      const lastAfterMs = Math.max(...requestsTo(queue, toRecover)) - killedAt;
      figures.push(
        `round ${round}: ${killed} killed after ${after} requests, the last one ${lastAfterMs} ms later`,
      );
      expect(lastAfterMs).toBeGreaterThan(0);
      expect(lastAfterMs).toBeLessThan(WITHIN_MS);
    },
    4 * WITHIN_MS,
  );
});
