import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { importSubscriptions, type Imported } from '../../api/subscriptions.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { readInput } from '../../options/input.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

/** What one request takes. */
const REQUEST_BYTES = 1_048_576;
const REQUEST_LINES = 500;
/** Some hundred thousand subscriptions. */
const MOST_BYTES = 128 * REQUEST_BYTES;

const MORE = `
Takes what export prints. A subscriber that is on the queue already is left as it is, and refused where its line differs, unless
--replace is given; so it can be repeated. A line that is refused
keeps none of the others back. Exit status: 1 if any was refused.
`;

type Options = DeploymentOptions & { replace?: boolean };

/** `posthaste subscription import` */
export function addSubscriptionImport(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('import')
    .description('Subscribe what a file of JSON lines holds.')
    .argument('<queue>', 'its name', queueOf)
    .argument('[file]', '- or none for stdin', '-')
    .option('--replace', 'change subscribers that are there already into what their lines say')
    .action(async (queue: string, file: string, { replace = false, ...options }: Options) => {
      const text = await readInput(file, MOST_BYTES, terminal);
      const result = await importAll(await openApi(options, terminal), queue, { text, replace });
      if (options.json === true) terminal.printJson(result);
      else report(queue, result, terminal);
      if (result.failed.length > 0) terminal.exitStatus = 1;
    });
  onDeployment(command, {
    json: 'imported, replaced, unchanged, failed: [{line, error}]',
    more: MORE,
    examples: ['subscription import orders orders.jsonl'],
  });
}

async function importAll(
  api: ApiClient,
  queue: string,
  { text, replace }: { text: string; replace: boolean },
): Promise<Imported> {
  const sum: Imported = { imported: 0, replaced: 0, unchanged: 0, failed: [] };
  for (const { firstLine, lines } of requestsOf(text)) {
    const request = { lines: lines.join('\n'), replace };
    const { imported, replaced, unchanged, failed } = await importSubscriptions(api, queue, request);
    sum.imported += imported;
    sum.replaced += replaced;
    sum.unchanged += unchanged;
    sum.failed.push(...failed.map(({ line, error }) => ({ line: line + firstLine - 1, error })));
  }
  return sum;
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

function report(
  queue: string,
  { imported, replaced, unchanged, failed }: Imported,
  terminal: Terminal,
): void {
  const counts = `${imported} imported, ${replaced} replaced, ${unchanged} unchanged`;
  terminal.print(`Queue ${queue}: ${counts}, ${failed.length} refused.`);
  for (const { line, error } of failed) {
    const { fields = [] } = error;
    const why =
      fields.length === 0
        ? error.message
        : fields.map(({ field, message }) => `${field} ${message}`).join('; ');
    terminal.printError(`  line ${line}: ${printable(why)}`);
  }
}
