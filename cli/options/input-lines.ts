import type { Readable } from 'node:stream';
import * as z from 'zod';

/** A line without its line ending; `bytes` is undefined if it was too long. */
export type InputLine = { number: number; bytes: Buffer | undefined };

const asBytes = z.instanceof(Buffer);

const NEWLINE = 0x0a;

/**
 * Reads lines that end with \n or \r\n; JSON may contain the other line separators of Unicode. Holds one line in memory
 * at a time, and at most `mostBytes` of it.
 */
export const inputLines = async function* (input: Readable, mostBytes: number): AsyncGenerator<InputLine> {
  let parts: Buffer[] = [];
  let size = 0;
  let number = 1;
  const keep = (part: Buffer): void => {
    size += part.length;
    if (size <= mostBytes) parts.push(part);
    else parts = [];
  };
  const line = (): InputLine => {
    const finished = { number, bytes: size <= mostBytes ? Buffer.concat(parts) : undefined };
    parts = [];
    size = 0;
    number += 1;
    return finished;
  };
  for await (const chunk of input) {
    const bytes = asBytes.parse(chunk);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      keep(bytes.subarray(start, end));
      yield line();
      start = end + 1;
    }
    if (start < bytes.length) keep(bytes.subarray(start));
  }
  if (size > 0) yield line();
};
