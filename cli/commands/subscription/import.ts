import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { importSubscriptions, type Imported } from '../../api/subscriptions.ts';
import { failureText } from '../../failure-text.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { readInput } from '../../options/input.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { Problem } from '../../../local/install/problem.mjs';

/** What one request takes. */
const REQUEST_BYTES = 1_048_576;
const REQUEST_LINES = 500;
/** Some hundred thousand subscriptions. */
const MOST_BYTES = 128 * REQUEST_BYTES;

const MORE = `
Takes what export prints. A subscriber that is on the queue already is left as it is, and refused where its line differs, unless
--replace is given; so it can be repeated. A line that is refused keeps none of the others back.

The secret of each new subscription is shown this once: with --output in a new file that only you can read, else on stdout. A line
that comes as unchanged has no secret to show: subscription rotate-secret makes a new one.

Exit status: 1 if any was refused or it broke off, 130 when interrupted.
`;

type Options = DeploymentOptions & { replace?: boolean; output?: string };

/** What became of a line. */
type LineResult = Imported['subscriptions'][number] | Imported['failed'][number];

/** `posthaste subscription import` */
export function addSubscriptionImport(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('import')
    .description('Subscribe what a file of JSON lines holds. The secrets are shown this once.')
    .argument('<queue>', 'its name', queueOf)
    .argument('[file]', '- or none for stdin', '-')
    .option('--replace', 'change subscribers that are there already into what their lines say')
    .option('--output <FILE>', 'a new file for what became of each line, as JSON lines, with the secrets')
    .action(async (queue: string, file: string, options: Options) => {
      const text = await readInput(file, MOST_BYTES, terminal);
      const api = await openApi(options, terminal);
      const results = options.output === undefined ? undefined : newResultsFile(options.output);
      try {
        await importText(api, { queue, text, ...options }, results, terminal);
      } finally {
        results?.close();
      }
    });
  onDeployment(command, {
    json: 'one line for each: line, and result, subscription_id, secret, confirmation, or error; with --output how many of each',
    more: MORE,
    examples: ['subscription import orders orders.jsonl --output orders-secrets.jsonl'],
  });
}

type Import = { queue: string; text: string; replace?: boolean; json?: boolean };

/** Request after request. What became of its lines is written before the next one: the secrets in it come once. */
async function importText(
  api: ApiClient,
  { queue, text, replace = false, json = false }: Import,
  results: ResultsFile | undefined,
  terminal: Terminal,
): Promise<void> {
  const counts = { imported: 0, replaced: 0, unchanged: 0, failed: 0 };
  const write = (result: LineResult): void => {
    counts['error' in result ? 'failed' : result.result] += 1;
    if (results !== undefined) results.write(result);
    else if (json) terminal.printJson(result);
    else if ('secret' in result) terminal.print(secretText(result));
    if (!json && 'error' in result) terminal.printError(refusalText(result));
  };
  const isWhole = await terminal.untilInterrupted(async (signal) => {
    for (const { firstLine, lines } of requestsOf(text)) {
      if (signal.aborted) return false;
      const { subscriptions, failed } = await importSubscriptions(api, queue, {
        lines: lines.join('\n'),
        replace,
      }).catch((error: unknown) => {
        if (!json) terminal.printError(`There is no answer for line ${firstLine} and those after it.`);
        throw error;
      });
      const byLine = [...subscriptions, ...failed].toSorted((one, other) => one.line - other.line);
      for (const result of byLine) write({ ...result, line: result.line + firstLine - 1 });
    }
    return true;
  });
  if (json && results !== undefined) terminal.printJson(counts);
  if (!json) terminal.print(countsText(queue, counts));
  if (counts.failed > 0) terminal.exitStatus = 1;
  if (!isWhole) terminal.exitStatus = INTERRUPTED;
}

/** As many lines to a request as it takes. The number of a line counts from 1 in the whole. */
function requestsOf(text: string): { firstLine: number; lines: string[] }[] {
  const requests: { firstLine: number; lines: string[] }[] = [];
  let room = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const bytes = Buffer.byteLength(line) + 1;
    const last = requests.at(-1);
    if (last === undefined || bytes > room || last.lines.length === REQUEST_LINES) {
      requests.push({ firstLine: index + 1, lines: [line] });
      room = REQUEST_BYTES - bytes;
    } else {
      last.lines.push(line);
      room -= bytes;
    }
  }
  return requests.filter(({ lines }) => lines.some((line) => line.trim() !== ''));
}

type ResultsFile = { write: (result: LineResult) => void; close: () => void };

/** A file that only its owner can read. @throws Problem where there is one already: the secrets in it are shown nowhere else */
function newResultsFile(path: string): ResultsFile {
  const failing = <Result>(work: () => Result, more = ''): Result => {
    try {
      return work();
    } catch (cause) {
      throw new Problem(`${path} cannot be written: ${failureText(cause)}.${more}`, { cause });
    }
  };
  const file = failing(() => openSync(path, 'wx', 0o600));
  let isEmpty = true;
  return {
    write: (result) => {
      const more = ` It lacks line ${result.line} and those after it; rotate the secrets of what they subscribed.`;
      failing(() => {
        writeFileSync(file, `${JSON.stringify(result)}\n`);
      }, more);
      isEmpty = false;
    },
    close: () => {
      closeSync(file);
      if (isEmpty) rmSync(path);
    },
  };
}

function secretText({ line, subscription_id, secret = '' }: Imported['subscriptions'][number]): string {
  return `line ${line}: subscription ${printable(subscription_id)}, secret ${printable(secret)}`;
}

function refusalText({ line, error }: Imported['failed'][number]): string {
  const { fields = [] } = error;
  const why =
    fields.length === 0
      ? error.message
      : fields.map(({ field, message }) => `${field} ${message}`).join('; ');
  return `line ${line}: ${printable(why)}`;
}

function countsText(
  queue: string,
  { imported, replaced, unchanged, failed }: Record<'imported' | 'replaced' | 'unchanged' | 'failed', number>,
): string {
  return `Queue ${queue}: ${imported} imported, ${replaced} replaced, ${unchanged} unchanged, ${failed} refused.`;
}
