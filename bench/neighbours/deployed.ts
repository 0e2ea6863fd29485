import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { toClientOptions } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { toSubscriptionItem } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { aSubscription, NO_RETRIES } from '../../test/support/builders.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startDeployed } from '../harness/deployed.ts';
import { type Quantiles, quantilesOf } from '../harness/figures.ts';

/** Waits of small messages on the local AWS, in ms from publish to request, alone and while a fan-out runs. */
export type DeployedFigures = {
  subscriptions: number;
  /** From the publish of the large message to its last request. */
  fanOutSeconds: number;
  waits: readonly ({ beside: string; messages: number } & Quantiles)[];
  p99ByAlone: number;
};

const SUBSCRIBERS = { full: 10_000, short: 500 };
const ALONE_SECONDS = { full: 60, short: 10 };
const EVERY_MS = 500;

/** DynamoDB takes so many items in one request ("BatchWriteItem", DynamoDB API reference). */
const BATCH = 25;

export async function measureDeployed(
  length: Length,
  { stack, signal, say }: BenchMeans,
): Promise<DeployedFigures> {
  const subscriptions = SUBSCRIBERS[length];
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const folder = runFolder('neighbours');
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder,
    settings: {},
    signal,
  });
  await makeQueue('quiet', NO_RETRIES);
  await subscribe('quiet', receiver.url('/quiet'));
  await makeQueue('large', NO_RETRIES);
  const items = Array.from({ length: subscriptions }, (_, index) =>
    toSubscriptionItem(
      aSubscription({
        id: randomUUID(),
        queue: 'large',
        subscriber: receiver.url(`/large/${index}`),
        createdAt: 1,
      }),
    ),
  );
  const documents = dynamoClient(toClientOptions(endpoints));
  for (let from = 0; from < items.length; from += BATCH) {
    const requests = items.slice(from, from + BATCH).map((Item) => ({ PutRequest: { Item } }));
    await documents.batchWrite({ RequestItems: { [endpoints.subscriptionsTable]: requests } });
  }
  const send = (queue: string, id: string) => publish([JSON.stringify({ queue, id, data: { small: true } })]);

  const fannedOut = () => receiver.received().filter(({ path }) => path.startsWith('/large/'));
  /** Publishes small messages until `isOver`, and waits for the last of them. */
  const waitsUntil = async (isOver: () => boolean): Promise<readonly number[]> => {
    const published = new Map<string, number>();
    while (!isOver()) {
      const id = randomUUID();
      published.set(id, Date.now());
      await Promise.all([send('quiet', id), setTimeout(EVERY_MS, undefined, { signal })]);
    }
    const arrived = () =>
      receiver.received('/quiet').flatMap(({ headers, arrivedAt }) => {
        const at = published.get(String(headers['webhook-id']));
        return at === undefined ? [] : [arrivedAt - at];
      });
    while (arrived().length < published.size) await setTimeout(EVERY_MS, undefined, { signal });
    return arrived();
  };

  await waitsUntil(endsIn(5));
  say(`Small messages alone for ${ALONE_SECONDS[length]} s`);
  const alone = await waitsUntil(endsIn(ALONE_SECONDS[length]));
  say(`Small messages beside one to ${subscriptions} subscriptions`);
  const startedAt = Date.now();
  await send('large', 'large');
  const beside = await waitsUntil(() => fannedOut().length >= subscriptions);
  const lastAt = Math.max(...fannedOut().map(({ arrivedAt }) => arrivedAt));
  const [ofAlone, ofBeside] = [quantilesOf(alone), quantilesOf(beside)];
  return {
    subscriptions,
    fanOutSeconds: (lastAt - startedAt) / 1_000,
    waits: [
      { beside: 'nothing', messages: alone.length, ...ofAlone },
      { beside: 'the fan-out', messages: beside.length, ...ofBeside },
    ],
    p99ByAlone: ofBeside.p99 / ofAlone.p99,
  };
}

function endsIn(seconds: number): () => boolean {
  const end = Date.now() + seconds * 1_000;
  return () => Date.now() >= end;
}
