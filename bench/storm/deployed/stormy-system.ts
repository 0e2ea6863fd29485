import { join } from 'node:path';
import { readCallLog, type CallLogEntry } from '../../../local/call-log.ts';
import type { Books } from '../../../shared/domain/message/books.ts';
import { allBooks } from '../../../test/support/all-books.ts';
import { startReceiver, type Receiver } from '../../../test/support/receiver.ts';
import { runFolder, startDeployed } from '../../measured/deployed.ts';
import { noRetries } from '../../operations/paths.ts';

/** Invocations of the retry queue at a time: what this machine bears beside the local AWS itself. */
export const RETRY_CONCURRENCY = 5;

/** Retries further away than this go by schedules, so that a storm that is soon over has some. */
const THRESHOLD_SECONDS = '30';

/** With a subscriber each. */
export type QueueName = 'stricken' | 'rehearsal' | 'others';

const QUEUES: readonly QueueName[] = ['stricken', 'rehearsal', 'others'];

export const pathOf = (queue: QueueName): string => `/${queue}`;

export type StormySystem = {
  receiver: Receiver;
  publish: (queue: QueueName, ids: readonly string[]) => Promise<void>;
  /** Of a queue since then. */
  books: (queue: QueueName, since: Date) => Promise<Books>;
  /** All that the functions asked. */
  log: () => readonly CallLogEntry[];
  signal: AbortSignal;
};

/** The deployed system on a local AWS of its own, with subscribers. Both end with the stack. */
export const startStormySystem = async (
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<StormySystem> => {
  const folder = runFolder('storm');
  const callLog = join(folder, 'calls.jsonl');
  const deployed = await startDeployed(stack, {
    folder,
    settings: { retryConcurrency: String(RETRY_CONCURRENCY), schedulerThreshold: THRESHOLD_SECONDS },
    callLog,
    signal,
  });
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  // One retry, as soon as may be: what the subscriber asks for decides when it is due.
  const policy = { ...noRetries, minimum_delay_retries: 1, minimum_delay: 1, maximum_delay: 1 };
  for (const queue of QUEUES) {
    await deployed.makeQueue(queue, policy);
    await deployed.subscribe(queue, receiver.url(pathOf(queue)));
  }
  return {
    receiver,
    publish: (queue, ids) =>
      deployed.publish(ids.map((id) => JSON.stringify({ queue, id, data: { ordered: id } }))),
    books: (queue, since) =>
      allBooks(queue, since.toISOString(), (path) =>
        fetch(`${deployed.endpoints.apiUrl}${path}`, { signal }),
      ),
    log: () => readCallLog(callLog),
    signal,
  };
};
