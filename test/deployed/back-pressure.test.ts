import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';

const ALLOWED = 5;
const RETRY_AFTER_SECONDS = 2;

/** Attempts that began before all function instances knew of the refusal. */
const IN_FLIGHT_MS = 700;

const FIRST = 10;
const LATER = 10;

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});

afterAll(async () => {
  await receiver.close();
});

/** Takes five requests in any second and answers the others with 429. */
const throttle = (path: string): { taken: number[]; refused: number[] } => {
  const [taken, refused]: [number[], number[]] = [[], []];
  receiver.script(path, ({ arrivedAt }) => {
    const isTaken = taken.filter((at) => at > arrivedAt - 1_000).length < ALLOWED;
    (isTaken ? taken : refused).push(arrivedAt);
    return isTaken ? { status: 200 } : { status: 429, headers: { 'retry-after': `${RETRY_AFTER_SECONDS}` } };
  });
  return { taken, refused };
};

it('a subscriber that throttles is left alone for as long as it asks, and gets every message', async () => {
  const queue = `throttled-${randomUUID()}`;
  const path = `/${queue}`;
  await putQueue(queue, { retry_on_status: [429] });
  await subscribe(queue, receiver.url(path));
  const { taken, refused } = throttle(path);
  const publish = (name: string, count: number) =>
    sendTogether(
      deployment.endpoints.ingressQueueUrl,
      Array.from({ length: count }, (_, index) =>
        JSON.stringify({ queue, id: `${name}-${index}`, data: index }),
      ),
    );
  await publish('first', FIRST);
  const firstRefusal = await eventually('a refusal', () => Promise.resolve(refused[0]));
  await publish('later', LATER);

  await eventually('all messages', () => Promise.resolve(taken.length === FIRST + LATER ? true : undefined));
  const closed = (at: number): boolean =>
    at > firstRefusal + IN_FLIGHT_MS && at < firstRefusal + RETRY_AFTER_SECONDS * 1_000;
  expect([...taken, ...refused].filter(closed)).toEqual([]);
  expect(refused.length).toBeLessThan(FIRST);
}, 30_000);
