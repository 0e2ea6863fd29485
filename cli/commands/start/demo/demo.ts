import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type ApiClient, clientBy } from '../../../../api-client/api-client.ts';
import { putQueue, subscribe } from '../../../../api-client/operations.ts';
import { type Endpoints, toClientOptions } from '../../../../local/endpoints.ts';
import { inSeconds } from '../../../../local/install/progress.mjs';
import { openOperatorInbox } from '../../../../local/operator-inbox.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { apiClient } from '../../../api/api-access.ts';
import { startLoopbackServer } from '../../../loopback/loopback-server.ts';
import { type Verifier, verifierFor } from '../../listen/webhook-receiver.ts';
import { createFeed, type Feed } from './feed.ts';
import {
  demoHeading,
  demoMessages,
  demoQueue,
  type DemoSubscriber,
  demoSubscribers,
  type DemoDelivery,
  judge,
  verdictTable,
} from './scenario.ts';

/** Timeout of the demo; its longest delivery takes about ten seconds. */
const OVER_WITHIN_MS = 90_000;

type DemoOptions = Record<'startedAt' | 'schedulerThreshold', number> & {
  endpoints: Endpoints;
  signal: AbortSignal;
};

export type Demo = Awaited<ReturnType<typeof runDemo>>;

/**
 * Runs the demo: subscribes, publishes, prints every attempt, and prints a table of the results. `startedAt`: when the
 * start began, milliseconds since the epoch. `schedulerThreshold`: the deployed setting, in seconds.
 */
export async function runDemo({ endpoints, startedAt, schedulerThreshold, signal }: DemoOptions) {
  const api = unsignedClient(endpoints.apiUrl, signal);
  const config = toClientOptions(endpoints);
  const clients = { sqs: new SQSClient(config), eventBridge: new EventBridgeClient(config) };
  const inbox = await openOperatorInbox(clients, endpoints.operatorEventBus);
  const names = new Map<string, string>();
  const feed = createFeed(api, inbox, names, signal);
  const receiver = await startDemoReceiver(demoSubscribers, {
    onRequest: feed.follow,
    onDelivered: announceFirst(startedAt),
  });
  const close = async (): Promise<void> => {
    clients.sqs.destroy();
    clients.eventBridge.destroy();
    await receiver.close();
  };
  try {
    console.log(`\n${demoHeading(schedulerThreshold)}`);
    await subscribeAll(api, receiver, names);
    await publish(clients.sqs, endpoints.ingressQueueUrl, feed);
    const deadline = Date.now() + OVER_WITHIN_MS;
    await feed.runUntil(() => Date.now() > deadline || demoMessages.every(({ id }) => isSettled(feed, id)));
    const verdicts = listDemoDeliveries(feed, receiver, names, schedulerThreshold).map(judge);
    console.log(`\n${verdictTable(verdicts)}\n`);
    /** Continues to show attempts on the demo's queue, until the signal. */
    const showMore = (): Promise<void> => feed.runUntil(() => false);
    return { verdicts, showMore, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A client whose requests also end with the signal. The demo runs without authorisation (options.mjs). */
function unsignedClient(apiUrl: string, signal: AbortSignal): ApiClient {
  const authorize = ({ headers }: { headers: Headers }) => Promise.resolve(headers);
  const api = apiClient({ name: 'the local deployment', apiUrl, isLocal: true, authorize });
  return clientBy(api.name, (request) => api.send({ ...request, signal }));
}

/** Prints once how long the first webhook took. */
function announceFirst(startedAt: number): () => void {
  let isPrinted = false;
  return () => {
    if (isPrinted) return;
    isPrinted = true;
    console.log(`  First webhook delivered ${inSeconds(Date.now() - startedAt)} after the start.`);
  };
}

async function subscribeAll(
  api: ApiClient,
  receiver: DemoReceiver,
  names: Map<string, string>,
): Promise<void> {
  await api.call(putQueue, { path: { queue: demoQueue }, body: '{}' });
  for (const subscriber of demoSubscribers) {
    const { name, policy: _retry_policy, shows } = subscriber;
    const request = { name, subscriber: receiver.urlOf(subscriber), options: { _retry_policy } };
    const created = await api.call(subscribe, { path: { queue: demoQueue }, body: JSON.stringify(request) });
    if (created.secret !== undefined) receiver.trust(subscriber, created.secret);
    names.set(created.subscription_id, name);
    console.log(`  ${name.padEnd(9)}  ${shows}`);
  }
}

async function publish(sqs: SQSClient, ingressQueueUrl: string, feed: Feed): Promise<void> {
  console.log(
    `\nPublishing ${demoMessages.length} messages to the ingress queue. Attempts as they are made:`,
  );
  for (const message of demoMessages) {
    feed.follow(message.id);
    const MessageBody = JSON.stringify({ queue: demoQueue, ...message });
    await sqs.send(new SendMessageCommand({ QueueUrl: ingressQueueUrl, MessageBody }));
  }
}

/** Whether all deliveries of a message have ended, and their events have arrived. */
function isSettled(feed: Feed, messageId: string): boolean {
  const views = feed.seen(messageId);
  return (
    views.length >= demoSubscribers.length &&
    views.every(
      (view) => !isOpenStatus(view.status) && (view.status !== 'exhausted' || feed.hasExhaustedEvent(view)),
    )
  );
}

function listDemoDeliveries(
  feed: Feed,
  receiver: DemoReceiver,
  names: ReadonlyMap<string, string>,
  schedulerThreshold: number,
): DemoDelivery[] {
  return demoSubscribers.flatMap((subscriber) =>
    demoMessages.map(({ id: message }) => ({
      subscriber,
      message,
      view: feed.seen(message).find(({ subscriptionId }) => names.get(subscriptionId) === subscriber.name),
      requests: receiver.requests(subscriber, message),
      unverified: receiver.unverified(subscriber, message),
      schedulerThreshold,
    })),
  );
}

export type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

/**
 * A real HTTP server on loopback for the demo's subscribers. `onRequest`: called for each request, with its `webhook-id`;
 * `onDelivered`: after it was answered with 200.
 */
export async function startDemoReceiver(
  subscribers: readonly DemoSubscriber[],
  events: { onRequest: (messageId: string) => void; onDelivered: () => void },
) {
  const counts = new Map<string, number>();
  const unverified = new Map<string, number>();
  const verifiers = new Map<string, Verifier>();

  const answer = ({ url, headers }: IncomingMessage, body: Buffer): number => {
    const subscriber = subscribers.find(({ name }) => url === `/${name}`);
    const messageId = headers['webhook-id'];
    if (subscriber === undefined || typeof messageId !== 'string') return 404;
    const key = buildKey(subscriber, messageId);
    const before = addOne(counts, key);
    if (verifiers.get(subscriber.name)?.(body, headers).verified !== true) addOne(unverified, key);
    events.onRequest(messageId);
    return subscriber.answers[before] ?? subscriber.answers.at(-1) ?? 404;
  };

  const server = await startLoopbackServer(async ({ request, response }) => {
    const status = answer(request, await buffer(request));
    response.writeHead(status).end(() => {
      if (status === 200) events.onDelivered();
    });
  });

  return {
    urlOf: ({ name }: DemoSubscriber): string => `${server.url}/${name}`,
    /** Verifies further requests of the subscriber with this secret. */
    trust: ({ name }: DemoSubscriber, secret: string): void => void verifiers.set(name, verifierFor(secret)),
    /** Number of requests for a message. */
    requests: (subscriber: DemoSubscriber, messageId: string): number =>
      counts.get(buildKey(subscriber, messageId)) ?? 0,
    /** Number of those requests without a valid signature. */
    unverified: (subscriber: DemoSubscriber, messageId: string): number =>
      unverified.get(buildKey(subscriber, messageId)) ?? 0,
    close: server.close,
  };
}

/** Returns the count before. */
function addOne(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before;
}

function buildKey(subscriber: DemoSubscriber, messageId: string): string {
  return `${subscriber.name} ${messageId}`;
}
