import { setTimeout as pause } from 'node:timers/promises';
import { LIST_BYTES, MAX_REQUEST_BYTES, type OutgoingMessage, type ReadLine } from './message-line.ts';

/** The API's limit for one request (docs/api.md). */
const MAX_MESSAGES = 100;

export type RefusedLine = Extract<ReadLine, { kind: 'refused' }>;

/** An incomplete batch is sent after this pause, so that a slow producer on stdin does not wait for 100 messages. */
const IDLE_MS = 200;

/** Groups messages in order into batches that fit one request. A pause in the input ends a batch early. */
export const batchesOf = async function* (
  lines: AsyncIterable<ReadLine>,
  onRefused: (refused: RefusedLine) => void,
): AsyncGenerator<OutgoingMessage[]> {
  let batch: OutgoingMessage[] = [];
  let bytes = LIST_BYTES;
  const takeBatch = (): OutgoingMessage[] => {
    const taken = batch;
    batch = [];
    bytes = LIST_BYTES;
    return taken;
  };
  for await (const line of withPauses(lines, () => batch.length > 0)) {
    if (line === 'pause') yield takeBatch();
    else if (line.kind === 'refused') onRefused(line);
    else {
      // Plus one byte for the comma.
      const size = line.message.bytes + 1;
      if (batch.length > 0 && bytes + size > MAX_REQUEST_BYTES) yield takeBatch();
      batch.push(line.message);
      bytes += size;
      if (batch.length === MAX_MESSAGES) yield takeBatch();
    }
  }
  if (batch.length > 0) yield takeBatch();
};

/** The items, and a `pause` whenever the next item is late while earlier ones wait to be sent. */
const withPauses = async function* <Item>(
  items: AsyncIterable<Item>,
  isWaiting: () => boolean,
): AsyncGenerator<Item | 'pause'> {
  const iterator = items[Symbol.asyncIterator]();
  for (;;) {
    const next = iterator.next();
    if (isWaiting() && (await isLate(next))) yield 'pause';
    const result = await next;
    if (result.done === true) return;
    yield result.value;
  }
};

/** Whether the promise is still pending after the pause. A rejection is not late: the caller awaits it next. */
async function isLate(next: Promise<unknown>): Promise<boolean> {
  const enough = new AbortController();
  const late = pause(IDLE_MS, true, { signal: enough.signal }).catch(() => false);
  const arrived = next.then(
    () => false,
    () => false,
  );
  const result = await Promise.race([late, arrived]);
  enough.abort();
  return result;
}
