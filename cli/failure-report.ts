import { adviceFor, ApiRefusal } from '../api-client/refusal.ts';
import type { FieldError } from '../shared/domain/errors.ts';
import { printable, printableJson } from './output/text.ts';
import type { Terminal } from './terminal.ts';

/**
 * A failure as one line. Some Node errors, such as a refused connection, have no message: only a code or nested errors.
 */
export function failureText(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  if (failure.message !== '') return failure.message.replaceAll(/\s*\n\s*/g, ' ');
  if (failure instanceof AggregateError && failure.errors.length > 0) return failureText(failure.errors[0]);
  return 'code' in failure ? String(failure.code) : failure.name;
}

/** The reason of a failure of fetch, which throws a generic TypeError with the reason in its cause. */
export function fetchFailure(failure: unknown): unknown {
  return failure instanceof TypeError ? (failure.cause ?? failure) : failure;
}

/** A refusal of the API as one sentence, and what to do if that is known. */
export function describeRefusal(refusal: ApiRefusal): { detail: string; advice: string | undefined } {
  const { request, status, message } = refusal;
  return { detail: `${request} was refused (${status}): ${message}`, advice: adviceFor(refusal) };
}

/** Prints a failure on stderr, without a stack trace: as sentences, or with `--json` as one line of JSON. */
export function reportFailure(failure: unknown, json: boolean, { printError }: Terminal): void {
  if (json) printError(printableJson(JSON.stringify({ error: toReportedError(failure) })));
  else for (const line of formatFailure(failure)) printError(line);
}

function toReportedError(failure: unknown): object {
  if (isSummary(failure)) return { message: failure.message, errors: failure.errors.map(failureText) };
  if (!(failure instanceof ApiRefusal)) return { message: failureText(failure) };
  const { status, code, message, fields } = failure;
  return { status, ...(code !== undefined && { code }), message, ...(fields.length > 0 && { fields }) };
}

/** Several failures under a sentence. Those of Node, such as a connection refused at each address, have none. */
function isSummary(failure: unknown): failure is AggregateError {
  return failure instanceof AggregateError && failure.message !== '';
}

function formatFailure(failure: unknown): string[] {
  if (isSummary(failure)) {
    const lines = failure.errors.map((error) => `  ${printable(failureText(error))}`);
    return [`posthaste: ${printable(failure.message)}`, ...lines];
  }
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
