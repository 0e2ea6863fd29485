import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { type ApiClient, buildRequest, markerIn } from '../../../api-client/api-client.ts';
import {
  exportCredentials,
  exportSubscriptions,
  type Imported,
  importSubscriptions,
} from '../../../api-client/operations.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { newQueueNotice } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { failureText } from '../../failure-report.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { argument, collect, option, QUEUE } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { readInput } from '../../options/input.ts';
import { printable, printableJson } from '../../output/text.ts';
import { withProgress } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import {
  createSealer,
  isSealed,
  openSealed,
  type OpeningOptions,
  type Seal,
  type SealingOptions,
} from './sealed-export.ts';

type ExportOptions = SealingOptions & { withCredentials?: true; plain?: true };

/** `posthaste subscription export` */
export const subscriptionExport = deployed<ExportOptions>({
  description:
    'Print the subscriptions of a queue as JSON lines, without secrets unless --with-credentials is given.',
  arguments: [QUEUE],
  options: [
    option('--with-credentials', 'include signing secrets and credentials'),
    option('--recipient <KEY>', 'seal for this age public key (age1…); repeatable', collect(String)),
    option('--passphrase-file <FILE>', 'seal by the passphrase in this file; - for stdin'),
    option('--plain', 'do not seal'),
  ],
  more: `
With --with-credentials the lines have the signing secrets, and the credentials
in headers and auth, in place of ***. They are sealed as an age file, for one or
more public keys or by a passphrase, before they are printed; only --plain prints
them as they are. posthaste subscription import opens such a file, and so does
age. Use a passphrase that cannot be guessed: who has the file can try many.
`,
  examples: [
    'subscription export orders > orders.jsonl',
    'subscription export orders --with-credentials --passphrase-file passphrase.txt > orders.age',
  ],
  run: async ({ options, terminal, refuse }, queue) => {
    const fault = findFault(options);
    if (fault !== undefined) refuse(fault);
    const { withCredentials = false, plain = !withCredentials } = options;
    const seal = plain ? undefined : await createSealer(options, terminal);
    const pages = exportedPages(await openApi(options, terminal), queue, withCredentials);
    await (seal === undefined ? printPages(pages, terminal) : printSealed(pages, seal, terminal));
  },
});

function findFault({ withCredentials, recipient, passphraseFile, plain }: ExportOptions): string | undefined {
  const ways = [recipient, passphraseFile, plain].filter((way) => way !== undefined).length;
  if (withCredentials === true)
    return ways === 1 ? undefined : 'give one of --recipient, --passphrase-file and --plain with credentials';
  return ways === 0 ? undefined : 'only an export --with-credentials is sealed, or plain';
}

async function printPages(pages: AsyncIterable<string>, terminal: Terminal): Promise<void> {
  for await (const page of pages) {
    if (terminal.readerLeft.aborted) return;
    terminal.stdout.write(printableJson(page));
  }
}

async function printSealed(pages: AsyncIterable<string>, seal: Seal, terminal: Terminal): Promise<void> {
  const all: string[] = [];
  for await (const page of pages) all.push(page);
  terminal.stdout.write(await seal(all.join('')));
}

/** The lines of an export, page by page. */
async function* exportedPages(
  api: ApiClient,
  queue: string,
  withCredentials: boolean,
): AsyncGenerator<string> {
  const path = { queue };
  let marker: string | undefined;
  do {
    const { text, headers } = await api.send(
      await (withCredentials
        ? buildRequest(exportCredentials, { path, query: { marker, secrets: true } })
        : buildRequest(exportSubscriptions, { path, query: { marker } })),
    );
    yield text;
    // A Link header of the form `<href>; rel="next"` (RFC 8288).
    const [, href] = /<([^>]*)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
    marker = href === undefined ? undefined : markerIn([{ rel: 'next', href }]);
  } while (marker !== undefined);
}

/** The API's limits for one request. */
const REQUEST_BYTES = 1_048_576;
const REQUEST_LINES = 500;
/** Limit of the input, enough for several hundred thousand subscriptions. */
const MAX_BYTES = 128 * REQUEST_BYTES;

const STDIN = '-';

type ImportOptions = OpeningOptions & { replace?: true; output?: string };

/** The result of one line. */
type LineResult = Imported['subscriptions'][number] | Imported['failed'][number];

/** `posthaste subscription import` */
export const subscriptionImport = deployed<ImportOptions>({
  description: 'Create subscriptions from JSON lines, and print their signing secrets once.',
  arguments: [QUEUE, argument('[file]', 'file to import; - for stdin').default(STDIN)],
  options: [
    option('--replace', 'change existing subscriptions to match their lines'),
    option('--identity-file <FILE>', 'age private key that opens a sealed file'),
    option('--passphrase-file <FILE>', 'passphrase that opens a sealed file'),
    option('--output <FILE>', 'new file for the result of each line as JSON, including secrets'),
  ],
  json: 'one result per line: line, and result, subscription_id, secret, confirmation, or error; with --output only counts',
  more: `
Imports the output of posthaste subscription export. An existing subscriber is
left unchanged; a line that differs from it is refused unless --replace is
given. The import can be repeated, and a refused line does not stop the others.

New subscriptions keep the signing secrets of a file that has them. Otherwise the
new secret of each is shown once: in the --output file, which only you can read,
or on stdout. Existing subscriptions keep theirs, which are not shown; posthaste
subscription rotate-secret creates a new one.

Exit status: 0 if all lines were imported, 1 if any was not, 130 if
interrupted.
`,
  examples: ['subscription import orders orders.jsonl --output orders-secrets.jsonl'],
  run: async ({ options, terminal, refuse }, queue, file: string | undefined) => {
    if (file === undefined && terminal.stdin.isTTY === true)
      refuse('there is nothing to import; name a file, or - for stdin');
    const given = await readInput(file ?? STDIN, MAX_BYTES, terminal);
    const text = isSealed(given) ? await openSealed(given, options, terminal) : given;
    const api = await openApiToWrite(options, terminal);
    const results = options.output === undefined ? undefined : newResultsFile(options.output);
    try {
      const sayIfNew = await newQueueNotice(api, queue, terminal);
      await importText(api, { queue, text, sayIfNew, ...options }, results, terminal);
    } finally {
      results?.close();
    }
  },
});

/** Subscriptions that were imported before are left unchanged. */
const REPEAT = 'Repeat the command for the rest.';

type Import = { queue: string; text: string; sayIfNew: () => void; replace?: true; json?: true };

/**
 * Imports request by request. Results are written before the next request, because their secrets are returned only
 * once.
 */
async function importText(
  api: ApiClient,
  { queue, text, sayIfNew, replace, ...options }: Import,
  results: ReturnType<typeof newResultsFile> | undefined,
  terminal: Terminal,
): Promise<void> {
  const json = options.json === true;
  const counts = { imported: 0, replaced: 0, unchanged: 0, failed: 0 };
  const write = (result: LineResult): void => {
    if ('result' in result) sayIfNew();
    counts['error' in result ? 'failed' : result.result] += 1;
    if (results !== undefined) results.write(result);
    else if (json) terminal.printJson(result);
    else if ('secret' in result) terminal.print(secretText(result));
    if (!json && 'error' in result) terminal.printError(refusalText(result));
  };
  const requests = splitIntoRequests(text);
  const linesInAll = text.trimEnd().split('\n').length;
  const isWhole = await withProgress(terminal, async (signal, progress) => {
    for (const { firstLine, lines } of requests) {
      if (signal.aborted) {
        if (!json) terminal.printError(`Interrupted at line ${firstLine} of ${linesInAll}. ${REPEAT}`);
        return false;
      }
      progress.show(`Line ${firstLine} of ${linesInAll}`);
      const request = { path: { queue }, query: { replace }, body: lines.join('\n') };
      const { subscriptions, failed } = await api
        .call(importSubscriptions, request)
        .catch((error: unknown) => {
          if (!json)
            terminal.printError(
              `The import stopped at line ${firstLine} of ${linesInAll}: that line and later ones have no result. ${REPEAT}`,
            );
          throw error;
        });
      progress.clear();
      const byLine = [...subscriptions, ...failed].toSorted((one, other) => one.line - other.line);
      for (const result of byLine) write({ ...result, line: result.line + firstLine - 1 });
    }
    return true;
  });
  if (json && results !== undefined) terminal.printJson(counts);
  const { imported, replaced, unchanged, failed } = counts;
  if (!json)
    terminal.print(
      `Queue ${queue}: ${imported} imported, ${replaced} replaced, ${unchanged} unchanged, ${failed} refused.`,
    );
  if (failed > 0) terminal.exitStatus = 1;
  if (!isWhole) terminal.exitStatus = INTERRUPTED;
}

/** Divides the lines into requests within the API's limits. `firstLine` counts from 1 in the whole input. */
function splitIntoRequests(text: string): { firstLine: number; lines: string[] }[] {
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

/**
 * Creates a file that only its owner can read.
 * @throws Problem if it exists: it may hold secrets that are stored nowhere else
 */
function newResultsFile(path: string) {
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
    write: (result: LineResult): void => {
      const more = ` Results from line ${result.line} on are missing: rotate the secrets of the subscriptions of those lines.`;
      failing(() => {
        writeFileSync(file, `${JSON.stringify(result)}\n`);
      }, more);
      isEmpty = false;
    },
    close: (): void => {
      closeSync(file);
      if (isEmpty) rmSync(path);
    },
  };
}

function secretText({ line, subscription_id, secret = '' }: Imported['subscriptions'][number]): string {
  return `Line ${line}: subscription ${printable(subscription_id)}, secret ${printable(secret)}`;
}

function refusalText({ line, error }: Imported['failed'][number]): string {
  const faults = error.fields?.map(({ field, message }) => `${field} ${message}`).join('; ');
  const why = faults === undefined || faults === '' ? error.message : faults;
  return `Line ${line} was refused: ${printable(why)}`;
}
