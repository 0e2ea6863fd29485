import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import type { ApiClient } from '../../api/api-request.ts';
import { inputLines } from '../../options/input-lines.ts';
import { notReadable } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';
import { batchesOf, type Refused } from './batches.ts';
import { MOST_REQUEST_BYTES, readLine, type Defaults, type Outgoing, type ReadLine } from './message-line.ts';
import { postBatch, type Posted } from './post-batch.ts';

/** Requests under way at once. */
const SIDE_BY_SIDE = 8;

export type LinesOrder = {
  queue: string;
  /** `-` for stdin. */
  file: string;
  bare: boolean;
  defaults: Defaults;
  signal: AbortSignal;
  onPublished: (published: Posted['published']) => void;
  onRefused: (refused: Refused) => void;
  /** How far it is in the file; undefined for stdin. */
  onProgress: (done: number | undefined) => void;
};

/** `failure` broke it off; the messages of `unpublished` lines, and those behind the last line read, did not go out. */
export type LinesEnd = { read: number; unpublished: number[]; failure?: unknown };

/**
 * Publishes the lines of an input as they are read, several batches at once. What cannot be published for reasons of its own
 * keeps nothing else back; any other failure ends it when the batches under way are through.
 */
export async function publishLines(api: ApiClient, order: LinesOrder, terminal: Terminal): Promise<LinesEnd> {
  const end: LinesEnd = { read: 0, unpublished: [] };
  const stopped = new AbortController();
  const signal = AbortSignal.any([order.signal, stopped.signal]);
  const source = openSource(order.file, signal, terminal);
  const underWay = new Set<Promise<void>>();
  const post = async (batch: readonly Outgoing[]): Promise<void> => {
    try {
      const { published, refused } = await postBatch(api, order.queue, batch);
      order.onPublished(published);
      refused.forEach(order.onRefused);
    } catch (error) {
      end.unpublished.push(...batch.map(({ line }) => line));
      end.failure ??= error;
      stopped.abort();
    }
    order.onProgress(source.done());
  };
  try {
    for await (const batch of batchesOf(linesIn(source.input, { ...order, signal }, end), order.onRefused)) {
      if (signal.aborted) {
        end.unpublished.push(...batch.map(({ line }) => line));
        break;
      }
      const posting = post(batch).finally(() => underWay.delete(posting));
      underWay.add(posting);
      if (underWay.size >= SIDE_BY_SIDE) await Promise.race(underWay);
    }
  } catch (cause) {
    end.failure ??= notReadable(order.file, cause);
  }
  await Promise.all(underWay);
  return end;
}

const linesIn = async function* (
  input: Readable,
  { bare, defaults, signal }: LinesOrder,
  end: LinesEnd,
): AsyncGenerator<ReadLine> {
  try {
    for await (const line of inputLines(input, MOST_REQUEST_BYTES)) {
      if (signal.aborted) return;
      end.read = line.number;
      const read = readLine(line, { bare, defaults });
      if (read !== undefined) yield read;
    }
  } catch (cause) {
    // Returning, so that the batch that was being gathered is not forgotten.
    if (!signal.aborted) throw cause;
  }
};

type Source = { input: Readable; done: () => number | undefined };

function openSource(file: string, signal: AbortSignal, terminal: Terminal): Source {
  if (file === '-') return { input: addAbortSignal(signal, terminal.stdin), done: () => undefined };
  const input = createReadStream(file);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return {
    input: addAbortSignal(signal, input),
    // A pipe by name has no size.
    done: () => (size === 0 ? undefined : Math.min(1, input.bytesRead / size)),
  };
}
