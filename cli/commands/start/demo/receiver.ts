import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verifyWebhook, WebhookVerificationError } from '../../../../client/verify.ts';
import { startLoopbackServer } from '../../../loopback/loopback-server.ts';
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

export type ReceiverEvents = {
  /** Called for each request, with its `webhook-id`. */
  onRequest: (messageId: string) => void;
  /** Called after a request was answered with 200. */
  onDelivered: () => void;
};

export async function startDemoReceiver(
  subscribers: readonly DemoSubscriber[],
  events: ReceiverEvents,
): Promise<DemoReceiver> {
  const counts = new Map<string, number>();
  const unverified = new Map<string, number>();
  const trusted = new Map<string, string>();

  const answer = ({ url, headers, body }: Received): number => {
    const subscriber = subscribers.find(({ name }) => url === `/${name}`);
    const messageId = headers['webhook-id'];
    if (subscriber === undefined || typeof messageId !== 'string') return 404;
    const key = keyOf(subscriber, messageId);
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    if (!isVerified(trusted.get(subscriber.name), body, headers))
      unverified.set(key, (unverified.get(key) ?? 0) + 1);
    events.onRequest(messageId);
    return subscriber.answers[before] ?? subscriber.answers.at(-1) ?? 404;
  };

  const server = await startLoopbackServer(async ({ request, response }) => {
    const body = await buffer(request);
    const status = answer({ url: request.url, headers: request.headers, body });
    response.writeHead(status).end(() => {
      if (status === 200) events.onDelivered();
    });
  });

  return {
    urlOf: ({ name }) => `${server.url}/${name}`,
    trust: ({ name }, secret) => void trusted.set(name, secret),
    requests: (subscriber, messageId) => counts.get(keyOf(subscriber, messageId)) ?? 0,
    unverified: (subscriber, messageId) => unverified.get(keyOf(subscriber, messageId)) ?? 0,
    close: server.close,
  };
}

type Received = { url: string | undefined; headers: IncomingHttpHeaders; body: Buffer };

function isVerified(secret: string | undefined, body: Buffer, headers: IncomingHttpHeaders): boolean {
  if (secret === undefined) return false;
  try {
    verifyWebhook(body, headers, secret);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function keyOf(subscriber: DemoSubscriber, messageId: string): string {
  return `${subscriber.name} ${messageId}`;
}
