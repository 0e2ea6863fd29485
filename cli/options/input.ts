import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import type { FieldError } from '../../shared/domain/errors.ts';
import { parseRetryPolicy, WHOLE_POLICY } from '../../shared/domain/retry/policy-schema.ts';
import { isPresetName, type PartialRetryPolicy, unknownPreset } from '../../shared/domain/retry/policy.ts';
import { boundedBody } from '../bounded-body.ts';
import { failureText } from '../failure-report.ts';
import type { Terminal } from '../terminal.ts';
import { parsedJson, parseJsonObjectText } from './arguments.ts';

/** Display name of an input. */
function nameOfInput(file: string): string {
  return file === '-' ? 'stdin' : file;
}

export function notReadable(file: string, cause: unknown): Problem {
  return new Problem(`${nameOfInput(file)} cannot be read: ${failureText(cause)}.`, { cause });
}

/** The text of a file or stdin. @throws Problem when it cannot be read, exceeds `mostBytes`, or is not UTF-8 */
export async function readInput(file: string, mostBytes: number, terminal: Terminal): Promise<string> {
  const input = file === '-' ? terminal.stdin : createReadStream(file);
  const bytes = await boundedBody(input, mostBytes).catch((cause: unknown) => {
    throw notReadable(file, cause);
  });
  if (bytes === undefined) throw new Problem(`${nameOfInput(file)} is larger than ${mostBytes} bytes.`);
  const text = decodedUtf8(bytes);
  if (text === undefined) throw new Problem(`${nameOfInput(file)} is not UTF-8.`);
  return text;
}

/** Far more than the length of a secret or a token. */
const MAX_SECRET_BYTES = 4096;

/** A secret in a file or stdin, without the white space around it. @throws as `readInput` */
export async function readSecret(file: string, terminal: Terminal): Promise<string> {
  return (await readInput(file, MAX_SECRET_BYTES, terminal)).trim();
}

/** Undefined: the bytes are not UTF-8. */
export function decodedUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : undefined;
}

/** A line without its line ending; `bytes` is undefined if it was too long. */
export type InputLine = { number: number; bytes: Buffer | undefined };

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
    const bytes = z.instanceof(Buffer).parse(chunk);
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

export type PolicyRefusal = { code: 'invalid_json' | 'invalid_retry_policy'; fields: FieldError[] };

export type GivenPolicy = { policy?: PartialRetryPolicy; refusal?: PolicyRefusal };

/** Parses a policy given as JSON or by the name of a preset. `prefix` is put before field names in errors. */
export function givenPolicy(text: string | undefined, prefix: string): GivenPolicy {
  if (text === undefined) return {};
  const json = WORD.test(text) ? { ok: true as const, value: text } : parsedJson(text);
  if (!json.ok) {
    const fault = { field: prefix + WHOLE_POLICY, message: json.message };
    return { refusal: { code: 'invalid_json', fields: [fault] } };
  }
  const parsed = parseRetryPolicy(json.value);
  if (parsed.ok) return { policy: parsed.policy };
  const fields = parsed.fields.map(({ field, message }) => ({ field: prefix + field, message }));
  return { refusal: { code: 'invalid_retry_policy', fields } };
}

/** The source text of a policy for the API, which checks it: a JSON object, or the name of a preset as JSON text. */
export function parsePolicy(text: string): string {
  if (isPresetName(text)) return JSON.stringify(text);
  if (WORD.test(text)) throw new InvalidArgumentError(`${unknownPreset(text)}.`);
  return parseJsonObjectText(text);
}

const WORD = /^[A-Za-z][\w-]*$/;
