import { buffer } from 'node:stream/consumers';
import type { SQS } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { receive, type Seen } from '../../../functions/acceptance/receiver.ts';
import { startLoopbackServer } from '../../loopback/loopback-server.ts';

const text = z.string();
const number = z.number();

/** The function has no zod, which would double its bundle. */
const seenSchema = z.object({
  ...{ key: text, messageId: text, signature: text, sha256: text },
  ...{ at: number, startedAt: number, bytes: number, status: number },
}) satisfies z.ZodType<Seen>;

/** A receiver that the checks send webhooks to. */
export type Receiver = {
  /** As the functions reach it. */
  url: string;
  /** The requests of a check so far, in the order of their arrival. */
  seen: (key: string) => readonly Seen[];
  close: () => Promise<void>;
};

/**
 * A receiver on this machine. `url`: under which the functions reach it, where that is not loopback.
 * @throws Problem when the port is in use
 */
export async function startLocalReceiver(port?: number, url?: string): Promise<Receiver> {
  const all: Seen[] = [];
  const server = await startLoopbackServer(async ({ request, response }) => {
    const at = Date.now();
    const body = await buffer(request);
    const { seen, answer } = receive({ path: request.url ?? '/', headers: request.headers, body }, at);
    all.push(seen);
    response.writeHead(answer.status, answer.headers).end();
  }, port);
  return { url: url ?? server.url, seen: (key) => findSeen(all, key), close: server.close };
}

function findSeen(all: readonly Seen[], key: string): readonly Seen[] {
  return all.filter((one) => one.key === key).toSorted((one, other) => one.at - other.at);
}

/** Seconds of a long poll. */
const WAIT = 5;

/** The receiver of the stack: what it saw comes by its queue. */
export function followReceiverStack(sqs: SQS, url: string, QueueUrl: string): Receiver {
  const all: Seen[] = [];
  const closing = new AbortController();
  const follow = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const { Messages: messages = [] } = await sqs.receiveMessage(
        { QueueUrl, WaitTimeSeconds: WAIT, MaxNumberOfMessages: 10 },
        { abortSignal: closing.signal },
      );
      all.push(...messages.map(({ Body = '' }) => seenSchema.parse(JSON.parse(Body))));
      const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      if (Entries.length > 0) await sqs.deleteMessageBatch({ QueueUrl, Entries });
    }
  };
  // If it ends early, the checks that wait for requests say that none arrived.
  const following = follow().catch(() => undefined);
  return {
    url,
    seen: (key) => findSeen(all, key),
    close: async () => {
      closing.abort();
      await following;
    },
  };
}
