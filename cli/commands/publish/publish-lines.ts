import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { inputLines } from '../../options/input-lines.ts';
import { notReadable } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';
import { batchesOf, type RefusedLine } from './batches.ts';
import {
  MAX_REQUEST_BYTES,
  readLine,
  type MessageDefaults,
  type OutgoingMessage,
  type ReadLine,
} from './message-line.ts';
import { postBatch, type BatchResult } from './post-batch.ts';

/** Concurrent requests. */
const SIDE_BY_SIDE = 8;

export type PublishLinesOptions = {
  queue: string;
  /** `-` for stdin. */
  file: string;
  bare: boolean;
  defaults: MessageDefaults;
  signal: AbortSignal;
  onPublished: (published: BatchResult['published']) => void;
  onRefused: (refused: RefusedLine) => void;
  /** `done`: the part of the file that was read, 0 to 1; undefined for stdin. */
  onProgress: (done: number | undefined) => void;
};

/** `failure` stopped the run. The lines in `unpublished`, and those after line `read`, were not published. */
export type PublishLinesResult = { read: number; unpublished: number[]; failure?: unknown };

/**
 * Publishes the lines of an input as they are read, with several batches in flight. Invalid lines do not stop the
 * others; any other failure ends the run after the batches in flight.
 */
export async function publishLines(
  api: ApiClient,
  options: PublishLinesOptions,
  terminal: Terminal,
): Promise<PublishLinesResult> {
  const end: PublishLinesResult = { read: 0, unpublished: [] };
  const stopped = new AbortController();
  const signal = AbortSignal.any([options.signal, stopped.signal]);
  const source = openSource(options.file, signal, terminal);
  const inFlight = new Set<Promise<void>>();
  const post = async (batch: readonly OutgoingMessage[]): Promise<void> => {
    try {
      const { published, refused } = await postBatch(api, options.queue, batch);
      options.onPublished(published);
      refused.forEach(options.onRefused);
    } catch (error) {
      end.unpublished.push(...batch.map(({ line }) => line));
      end.failure ??= error;
      stopped.abort();
    }
    options.onProgress(source.done());
  };
  try {
    for await (const batch of batchesOf(
      linesIn(source.input, { ...options, signal }, end),
      options.onRefused,
    )) {
      if (signal.aborted) {
        end.unpublished.push(...batch.map(({ line }) => line));
        break;
      }
      const posting = post(batch).finally(() => inFlight.delete(posting));
      inFlight.add(posting);
      if (inFlight.size >= SIDE_BY_SIDE) await Promise.race(inFlight);
    }
  } catch (cause) {
    end.failure ??= notReadable(options.file, cause);
  }
  await Promise.all(inFlight);
  return end;
}

const linesIn = async function* (
  input: Readable,
  { bare, defaults, signal }: PublishLinesOptions,
  end: PublishLinesResult,
): AsyncGenerator<ReadLine> {
  try {
    for await (const line of inputLines(input, MAX_REQUEST_BYTES)) {
      if (signal.aborted) return;
      end.read = line.number;
      const read = readLine(line, { bare, defaults });
      if (read !== undefined) yield read;
    }
  } catch (cause) {
    // Aborted: return normally, so that the caller still receives the incomplete batch.
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
    // A named pipe has no size.
    done: () => (size === 0 ? undefined : Math.min(1, input.bytesRead / size)),
  };
}
