import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { toDeliveryItem } from '../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { toMessageItem } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/deliveries/queue-statistics.ts';
import { toQueueItem } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/domain/duration.ts';
import { addDuration, noCounters } from '../../shared/domain/delivery/statistics.ts';
import { awsStub } from '../../test/support/aws-stub.ts';
import { aDelivery, anAttempt } from '../../test/support/delivery-builders.ts';
import { type Bench, runBench } from '../harness/command.ts';
import { median } from '../harness/figures.ts';
import { environmentAt } from '../harness/stub-aws.ts';
import { Tables } from './tables.ts';

/** Messages of the last hour. */
const MESSAGES = { full: 100_000, short: 1_000 };
const ROUNDS = 5;
const QUEUE = 'orders';

/** The time that an answer of DynamoDB takes within a region, as the plan assumes it. */
const ANSWER_MS = 5;

/** A day of minutes with durations of all sizes, and in its last hour messages with a delivery each. */
async function seed(tables: Tables, endpoint: string, messages: number, now: number): Promise<void> {
  tables.put(
    marshall(toQueueItem({ name: QUEUE, metadata: {}, createdAt: 0 }), { removeUndefinedValues: true }),
  );
  const statistics = dynamoQueueStatistics(dynamoClient(clientAt(endpoint)), '');
  const counters = noCounters();
  for (let ms = 20; ms < 20_000; ms *= 1.2) {
    addDuration(counters.response, ms);
    addDuration(counters.timeToDelivery, ms);
  }
  counters.counts.messages = messages / 60;
  for (let at = now - DAY_MS; at < now; at += MINUTE_MS)
    await statistics.add({ queue: QUEUE, at, counters, expiresAt: now + DAY_MS });
  for (let index = 0; index < messages; index += 1) {
    const key = { queue: QUEUE, messageId: `m-${index}` };
    const acceptedAt = now - Math.floor((60 * MINUTE_MS * (messages - index)) / messages);
    const times = { acceptedAt, expiresAt: now + DAY_MS };
    const counts = { listedAt: acceptedAt, matched: 1, filtered: 0, duplicates: 0, buckets: 1 };
    const attempts = [anAttempt({ outcome: 'delivered', startedAt: acceptedAt })];
    const delivery = {
      key: { ...key, subscriptionId: 's-1', bucket: 0 },
      status: 'delivered',
      attempts,
    } as const;
    for (const item of [
      toMessageItem({ key, ...times, ...counts }),
      toDeliveryItem(aDelivery({ ...times, ...delivery })),
    ])
      tables.put(marshall(item, { removeUndefinedValues: true }));
  }
}

function clientAt(endpoint: string) {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' } };
}

const answerSchema = z.object({ statusCode: z.literal(200), body: z.string() });
const linksSchema = z.object({ links: z.array(z.object({ href: z.string() })).default([]) });
const loaded = z.object({
  handler: z.custom<(event: object, context: object) => Promise<unknown>>(
    (value) => typeof value === 'function',
  ),
});

type Figures = {
  messages: number;
  requests: { request: string; ms: number; calls: number; byBare: number }[];
};

/** The requests of a chart and the reconciliation report, by the API on DynamoDB in memory, at the speed of this machine. */
const overview: Bench<Figures> = {
  name: 'overview',
  keptIn: 'nowhere',
  measure: async (length, { stack, signal, say }) => {
    const [tables, messages, now] = [
      new Tables(),
      MESSAGES[length],
      Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS,
    ];
    let calls = 0;
    const stub = await awsStub(
      ({ headers, body }) => {
        calls += 1;
        const operation = String(headers['x-amz-target']).split('.')[1] ?? '';
        return { body: JSON.stringify(tables.answer(operation, body)), afterMs: ANSWER_MS };
      },
      { keepsRequests: false },
    );
    stack.defer(stub.close);
    say(`Storing ${messages} messages`);
    await seed(tables, stub.config.endpoint, messages, now);
    Object.assign(process.env, environmentAt(stub.config.endpoint), { POWERTOOLS_METRICS_DISABLED: 'true' });
    const { handler } = loaded.parse(await import('../../functions/api/handler.ts'));
    const context = { getRemainingTimeInMillis: () => 29_000 };
    /** Follows the links to further pages. */
    const get = async (path: string): Promise<void> => {
      for (let next: string | undefined = path; next !== undefined;) {
        signal.throwIfAborted();
        const [rawPath, rawQueryString] = next.split('?');
        const requestContext = { requestId: 'r', http: { method: 'GET' } };
        const answer = await handler({ rawPath, rawQueryString, requestContext }, context);
        next = linksSchema.parse(JSON.parse(answerSchema.parse(answer).body)).links[0]?.href;
      }
    };
    const bare = dynamoClient(clientAt(stub.config.endpoint));
    const Key = { pk: `QUEUE#${QUEUE}`, sk: 'META' };
    const since = (ms: number): string => `since=${new Date(now - ms).toISOString()}`;
    const path = `/v2/queues/${QUEUE}`;
    const contests = [
      ['one GetItem', () => bare.get({ TableName: 'bare', Key }), ROUNDS],
      ['statistics of an hour', () => get(`${path}/statistics?${since(60 * MINUTE_MS)}&step=60`), ROUNDS],
      ['statistics of a day', () => get(`${path}/statistics?${since(DAY_MS)}&step=300`), ROUNDS],
      ['books of five minutes', () => get(`${path}/books?${since(5 * MINUTE_MS)}`), 1],
    ] as const;
    const requests: Figures['requests'] = [];
    for (const [name, make, rounds] of contests) {
      say(`Measuring ${name}`);
      await (rounds === 1 ? undefined : make());
      const times: number[] = [];
      for (calls = 0; times.length < rounds;) {
        const from = performance.now();
        await make();
        times.push(performance.now() - from);
      }
      const ms = median(times);
      requests.push({ request: name, ms, calls: calls / rounds, byBare: ms / (requests[0]?.ms ?? ms) });
    }
    return { messages, requests };
  },
};

process.exitCode = await runBench(overview, process.argv.slice(2));
