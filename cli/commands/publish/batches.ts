import { setTimeout as pause } from 'node:timers/promises';
import { LIST_BYTES, MOST_REQUEST_BYTES, type Outgoing, type ReadLine } from './message-line.ts';

/** What the API takes at once (docs/api.md). */
const MOST_MESSAGES = 100;

export type Refused = Extract<ReadLine, { kind: 'refused' }>;

/** A batch that waits for more messages goes out as it is: whoever pipes them in as they come about does not wait for 100. */
const IDLE_MS = 200;

/** Messages in their order, as many to a batch as one request takes and as have come. */
export const batchesOf = async function* (
  lines: AsyncIterable<ReadLine>,
  onRefused: (refused: Refused) => void,
): AsyncGenerator<Outgoing[]> {
  let batch: Outgoing[] = [];
  let bytes = LIST_BYTES;
  const takeBatch = (): Outgoing[] => {
    const taken = batch;
    batch = [];
    bytes = LIST_BYTES;
    return taken;
  };
  for await (const line of withPauses(lines, () => batch.length > 0)) {
    if (line === 'pause') yield takeBatch();
    else if (line.kind === 'refused') onRefused(line);
    else {
      // One more for the comma.
      const size = line.message.bytes + 1;
      if (batch.length > 0 && bytes + size > MOST_REQUEST_BYTES) yield takeBatch();
      batch.push(line.message);
      bytes += size;
      if (batch.length === MOST_MESSAGES) yield takeBatch();
    }
  }
  if (batch.length > 0) yield takeBatch();
};

/** The items, and a `pause` where the next one lets us wait though somebody is waiting. */
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

/** A failure is not late; it is met by whoever awaits it. */
async function isLate(next: Promise<unknown>): Promise<boolean> {
  const enough = new AbortController();
  const late = pause(IDLE_MS, true, { signal: enough.signal }).catch(() => false);
  const came = next.then(
    () => false,
    () => false,
  );
  const result = await Promise.race([late, came]);
  enough.abort();
  return result;
}
