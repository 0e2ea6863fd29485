import { createServer, type IncomingMessage } from 'node:http';
import { loopbackPort } from '../loopback-port.ts';
import type { DemoSubscriber } from './scenario.ts';

/** The subscribers' own server: a real one, on loopback. */
export type DemoReceiver = {
  urlOf: (subscriber: DemoSubscriber) => string;
  /** How many requests came for a message. */
  requests: (subscriber: DemoSubscriber, messageId: string) => number;
  close: () => Promise<void>;
};

export type ReceiverEvents = {
  /** A request came, with its `webhook-id`. */
  onRequest: (messageId: string) => void;
  /** A webhook was taken: answered with 2xx. */
  onTaken: () => void;
};

export const startDemoReceiver = async (
  subscribers: readonly DemoSubscriber[],
  events: ReceiverEvents,
): Promise<DemoReceiver> => {
  const counts = new Map<string, number>();

  const answer = (request: IncomingMessage): number => {
    const subscriber = subscribers.find(({ name }) => request.url === `/${name}`);
    const messageId = request.headers['webhook-id'];
    if (subscriber === undefined || typeof messageId !== 'string') return 404;
    const key = keyOf(subscriber, messageId);
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    events.onRequest(messageId);
    return subscriber.answers[before] ?? subscriber.answers.at(-1) ?? 404;
  };

  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const status = answer(request);
      response.writeHead(status).end(() => {
        if (status === 200) events.onTaken();
      });
    });
  });
  const port = await loopbackPort();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });

  return {
    urlOf: ({ name }) => `http://127.0.0.1:${port}/${name}`,
    requests: (subscriber, messageId) => counts.get(keyOf(subscriber, messageId)) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
};

const keyOf = (subscriber: DemoSubscriber, messageId: string): string => `${subscriber.name} ${messageId}`;
