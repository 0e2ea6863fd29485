import { SQS } from '@aws-sdk/client-sqs';
import { type ApiClient, clientBy } from '../../../../api-client/api-client.ts';
import { putQueue, subscribe } from '../../../../api-client/operations.ts';
import { type Endpoints, toClientOptions } from '../../../../local/endpoints.ts';
import { inSeconds } from '../../../../local/install/progress.mjs';
import { openOperatorInbox } from '../../../../local/operator-inbox.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { apiClient } from '../../../api/api-access.ts';
import {
  parseAnswerScript,
  startWebhookReceiver,
  type Verifier,
  verifierFor,
  type Webhook,
} from '../../listen/webhook-receiver.ts';
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
  const client = toClientOptions(endpoints);
  const sqs = new SQS(client);
  const inbox = await openOperatorInbox(client, endpoints.operatorEventBus);
  const names = new Map<string, string>();
  const feed = createFeed(api, inbox, names, signal);
  const events = { onRequest: feed.follow, onDelivered: announceFirst(startedAt) };
  const receivers = await Promise.all(demoSubscribers.map((one) => startDemoReceiver(one, events)));
  const close = async (): Promise<void> => {
    sqs.destroy();
    inbox.destroy();
    await Promise.all(receivers.map((one) => one.close()));
  };
  try {
    console.log(`\n${demoHeading(schedulerThreshold)}`);
    await subscribeAll(api, receivers, names);
    await publish(sqs, endpoints.ingressQueueUrl, feed);
    const deadline = Date.now() + OVER_WITHIN_MS;
    await feed.runUntil(() => Date.now() > deadline || demoMessages.every(({ id }) => isSettled(feed, id)));
    const verdicts = listDemoDeliveries(feed, receivers, names, schedulerThreshold).map(judge);
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
  receivers: readonly DemoReceiver[],
  names: Map<string, string>,
): Promise<void> {
  await api.call(putQueue, { path: { queue: demoQueue }, body: '{}' });
  for (const { url, subscriber, trust } of receivers) {
    const { name, policy: _retry_policy, shows } = subscriber;
    const request = { name, subscriber: url, options: { _retry_policy } };
    const created = await api.call(subscribe, { path: { queue: demoQueue }, body: JSON.stringify(request) });
    if (created.secret !== undefined) trust(created.secret);
    names.set(created.subscription_id, name);
    console.log(`  ${name.padEnd(9)}  ${shows}`);
  }
}

async function publish(sqs: SQS, ingressQueueUrl: string, feed: Feed): Promise<void> {
  console.log(
    `\nPublishing ${demoMessages.length} messages to the ingress queue. Attempts as they are made:`,
  );
  for (const message of demoMessages) {
    feed.follow(message.id);
    const MessageBody = JSON.stringify({ queue: demoQueue, ...message });
    await sqs.sendMessage({ QueueUrl: ingressQueueUrl, MessageBody });
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
  receivers: readonly DemoReceiver[],
  names: ReadonlyMap<string, string>,
  schedulerThreshold: number,
): DemoDelivery[] {
  return receivers.flatMap(({ subscriber, requests, unverified }) =>
    demoMessages.map(({ id: message }) => ({
      subscriber,
      message,
      view: feed.seen(message).find(({ subscriptionId }) => names.get(subscriptionId) === subscriber.name),
      requests: requests(message),
      unverified: unverified(message),
      schedulerThreshold,
    })),
  );
}

type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

/**
 * A subscriber with a server on loopback, as `posthaste listen` starts it. `onRequest`: called for each request, with its
 * `webhook-id`; `onDelivered`: after it was answered with 200.
 */
export async function startDemoReceiver(
  subscriber: DemoSubscriber,
  events: { onRequest: (messageId: string) => void; onDelivered: () => void },
) {
  const received: Webhook[] = [];
  let verifier: Verifier | undefined;
  const { url, close } = await startWebhookReceiver({
    path: `/${subscriber.name}`,
    script: parseAnswerScript(subscriber.answers.join()),
    verifier: () => verifier,
    onWebhook: (webhook) => {
      received.push(webhook);
      events.onRequest(webhook.messageId ?? '');
    },
    onAnswered: ({ answer }) => {
      if (answer.status === 200) events.onDelivered();
    },
  });
  const requestsFor = (message: string) => received.filter(({ messageId }) => messageId === message);
  return {
    ...{ subscriber, url, close },
    /** Verifies further requests with this secret. */
    trust: (secret: string): void => {
      verifier = verifierFor(secret);
    },
    /** Number of requests for a message. */
    requests: (message: string): number => requestsFor(message).length,
    /** Number of those requests without a valid signature. */
    unverified: (message: string): number =>
      requestsFor(message).filter(({ verdict }) => verdict?.verified !== true).length,
  };
}
