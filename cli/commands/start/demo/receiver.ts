import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { startLoopbackServer } from '../../../loopback/loopback-server.ts';
import { type Verifier, verifierFor } from '../../listen/webhook-receiver.ts';
import type { DemoSubscriber } from './scenario.ts';

/** A real HTTP server on loopback for the demo's subscribers. */
export type DemoReceiver = {
  urlOf: (subscriber: DemoSubscriber) => string;
  /** Verifies further requests of the subscriber with this secret. */
  trust: (subscriber: DemoSubscriber, secret: string) => void;
  /** Number of requests for a message. */
  requests: (subscriber: DemoSubscriber, messageId: string) => number;
  /** Number of those requests without a valid signature. */
  unverified: (subscriber: DemoSubscriber, messageId: string) => number;
  close: () => Promise<void>;
};

/** `onRequest`: called for each request, with its `webhook-id`; `onDelivered`: after it was answered with 200. */
export async function startDemoReceiver(
  subscribers: readonly DemoSubscriber[],
  events: { onRequest: (messageId: string) => void; onDelivered: () => void },
): Promise<DemoReceiver> {
  const counts = new Map<string, number>();
  const unverified = new Map<string, number>();
  const verifiers = new Map<string, Verifier>();

  const answer = ({ url, headers }: IncomingMessage, body: Buffer): number => {
    const subscriber = subscribers.find(({ name }) => url === `/${name}`);
    const messageId = headers['webhook-id'];
    if (subscriber === undefined || typeof messageId !== 'string') return 404;
    const key = keyOf(subscriber, messageId);
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
    urlOf: ({ name }) => `${server.url}/${name}`,
    trust: ({ name }, secret) => void verifiers.set(name, verifierFor(secret)),
    requests: (subscriber, messageId) => counts.get(keyOf(subscriber, messageId)) ?? 0,
    unverified: (subscriber, messageId) => unverified.get(keyOf(subscriber, messageId)) ?? 0,
    close: server.close,
  };
}

/** Returns the count before. */
function addOne(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before;
}

function keyOf(subscriber: DemoSubscriber, messageId: string): string {
  return `${subscriber.name} ${messageId}`;
}
