import type { FieldError } from '../shared/domain/errors.ts';
import { adviceFor, ApiRefusal } from '../api-client/refusal.ts';
import { failureText } from './failure-text.ts';
import { printable, printableJson } from './output/printable.ts';
import type { Terminal } from './terminal.ts';

/** Prints a failure on stderr, without a stack trace: as sentences, or with `--json` as one line of JSON. */
export function reportFailure(
  failure: unknown,
  json: boolean,
  { printError }: Pick<Terminal, 'printError'>,
): void {
  if (json) printError(printableJson(JSON.stringify({ error: errorOf(failure) })));
  else for (const line of linesOf(failure)) printError(line);
}

function errorOf(failure: unknown): object {
  if (!(failure instanceof ApiRefusal)) return { message: failureText(failure) };
  const { status, code, message, fields } = failure;
  return { status, ...(code !== undefined && { code }), message, ...(fields.length > 0 && { fields }) };
}

function linesOf(failure: unknown): string[] {
  if (!(failure instanceof ApiRefusal)) return [`posthaste: ${printable(failureText(failure))}`];
  const { request, status, code = 'from API Gateway', message, fields } = failure;
  const advice = adviceFor(failure);
  // The message would only repeat the fields.
  const what = fields.length > 0 ? '' : ` ${printable(message)}`;
  return [
    `posthaste: ${printable(request)} was refused (${status} ${printable(code)}):${what}`,
    ...fields.map((fault) => `  ${printable(fault.field)} ${printable(fault.message)}`),
    ...(advice === undefined ? [] : [advice]),
  ];
}

/** Reports options whose values are wrong, as a usage error. `what`: the subject of the sentence. */
export function reportInvalid(
  what: string,
  error: { code: string; fields: readonly FieldError[] },
  json: boolean,
  terminal: Terminal,
): void {
  terminal.exitStatus = 2;
  if (json) terminal.print(JSON.stringify({ error }));
  else {
    terminal.printError(`${what} is invalid:`);
    for (const { field, message } of error.fields) terminal.printError(`  ${field} ${message}`);
  }
}
