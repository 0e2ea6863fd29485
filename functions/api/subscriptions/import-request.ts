import * as z from 'zod';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import { MOST_LINES } from './transfer.ts';
import { answerBytesOf, MAX_ANSWER_BYTES } from '../answer-size.ts';
import { errorBody, errorSchema, RefusedRequest } from '../errors.ts';
import { refusalOf } from '../refusal.ts';
import { readText } from '../request-json.ts';

type Line = { number: number; text: string };

/** The answer to an import. `line` counts from 1, blank ones included. */
export const importAnswerSchema = z.object({
  imported: z.int(),
  replaced: z.int(),
  unchanged: z.int(),
  failed: z.array(errorSchema.extend({ line: z.int().positive() })),
});

type ImportAnswer = z.infer<typeof importAnswerSchema>;

/** @throws RefusedRequest for more than 1 MiB or 500 lines, and for what is not UTF-8. Blank lines are nothing. */
export async function importLines(request: {
  arrayBuffer(): Promise<ArrayBuffer>;
}): Promise<readonly Line[]> {
  const text = await readText(request);
  const lines = text
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '');
  if (lines.length <= MOST_LINES) return lines;
  throw new RefusedRequest('too_large', `the import has more than ${MOST_LINES} lines`);
}

/**
 * Line after line, each by itself: one that is refused holds up none.
 * @throws what is our own fault; the lines before it are done, and a repeat finds them unchanged
 */
export async function sumOf(
  lines: readonly Line[],
  importLine: (value: unknown) => Promise<'imported' | 'replaced' | 'unchanged'>,
): Promise<ImportAnswer> {
  const sum: ImportAnswer = { imported: 0, replaced: 0, unchanged: 0, failed: [] };
  let room = MAX_ANSWER_BYTES - lines.length * BRIEF_BYTES;
  for (const { number, text } of lines) {
    try {
      sum[await importLine(valueOf(text))] += 1;
    } catch (error) {
      const refused = refusalOf(error);
      if (refused === undefined) throw error;
      const fault = { line: number, ...errorBody(refused) };
      room -= answerBytesOf(fault);
      sum.failed.push(room < 0 ? { line: number, ...errorBody(unexplained(refused)) } : fault);
    }
  }
  return sum;
}

/** More than a line takes whose faults there is no room for. */
const BRIEF_BYTES = 200;

function unexplained({ code }: RefusedRequest): RefusedRequest {
  return new RefusedRequest(
    code,
    'too many faults for one answer; import this line by itself to see its own',
  );
}

function valueOf(text: string): unknown {
  const json = parseJson(text);
  if (json === undefined) throw new RefusedRequest('invalid_json', 'the line is not JSON');
  return json.value;
}
