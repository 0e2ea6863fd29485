import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { boundedBody } from '../bounded-body.ts';
import { failureText } from '../failure-text.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { Terminal } from '../terminal.ts';

/** A stream of a file, or of stdin for `-`. */
function openInput(file: string, terminal: Terminal): Readable {
  return file === '-' ? terminal.stdin : createReadStream(file);
}

/** Display name of an input. */
function nameOfInput(file: string): string {
  return file === '-' ? 'stdin' : file;
}

export function notReadable(file: string, cause: unknown): Problem {
  return new Problem(`${nameOfInput(file)} cannot be read: ${failureText(cause)}.`, { cause });
}

/** The text of a file or stdin. @throws Problem when it cannot be read, exceeds `mostBytes`, or is not UTF-8 */
export async function readInput(file: string, mostBytes: number, terminal: Terminal): Promise<string> {
  const bytes = await boundedBody(openInput(file, terminal), mostBytes).catch((cause: unknown) => {
    throw notReadable(file, cause);
  });
  if (bytes === undefined) throw new Problem(`${nameOfInput(file)} is larger than ${mostBytes} bytes.`);
  return decodedUtf8(bytes, file);
}

/** Far more than the length of a secret or a token. */
const MAX_SECRET_BYTES = 4096;

/** A secret in a file or stdin, without the white space around it. @throws as `readInput` */
export async function readSecret(file: string, terminal: Terminal): Promise<string> {
  return (await readInput(file, MAX_SECRET_BYTES, terminal)).trim();
}

function decodedUtf8(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Problem(`${nameOfInput(file)} is not UTF-8.`, { cause });
  }
}
