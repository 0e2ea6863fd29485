import { statisticsViewSchema } from '../../shared/wire/views/statistics.ts';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { sendTogether } from '../support/sqs-messages.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';

const receiver = await receiverOfTests();

/** An instance whose write of counts failed, as on a busy system, makes none for a minute. */
const PAUSE_MS = 60_000;

describe('the statistics of a queue', () => {
  it('count its messages and deliveries, and time them', async () => {
    const [queue, other] = [`statistics-${randomUUID()}`, `statistics-${randomUUID()}`];
    const path = `/${queue}`;
    for (const name of [queue, other]) {
      await putQueue(name, aBarePolicy());
      await subscribe(name, receiver.url(`/${name}`), { event_types: ['wanted', 'refused'] });
    }
    receiver.script(path, ({ headers }) => ({ status: headers['webhook-id'] === 'm0' ? 422 : 200 }));
    const types = ['refused', 'wanted', 'wanted', 'unwanted'];
    const bodies = types.map((type, index) => JSON.stringify({ queue, id: `m${index}`, type, data: index }));
    await sendTogether(deployment.endpoints.ingressQueueUrl, bodies);

    const total = await eventually(
      'the statistics of all messages',
      async () => {
        // A busy instance holds counts for up to a second, and then writes them after its next invocation.
        const next = JSON.stringify({ queue: other, type: 'wanted', data: 1 });
        await sendTogether(deployment.endpoints.ingressQueueUrl, [next]);
        const response = await callApi('GET', `/v2/queues/${queue}/statistics`);
        const seen = statisticsViewSchema.parse(await response.json());
        return seen.total.messages >= 4 && seen.total.attempts >= 3 ? seen.total : undefined;
      },
      PAUSE_MS + 30_000,
    );
    const ends = { delivered: 2, rejected: 1, exhausted: 0, cancelled: 0 };
    const attempts = { attempts: 3, attemptsFailed: 0, attemptsRejected: 1 };
    expect(total).toMatchObject({ messages: 4, matched: 3, filtered: 1, ...attempts, ...ends });
    expect([total.timeToDelivery?.count, total.response?.count]).toEqual([2, 3]);
  });
});
