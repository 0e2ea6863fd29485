import type { ApiClient } from '../../../api-client/api-client.ts';
import { showMessage } from '../../../api-client/messages.ts';
import { getEventType, getEventTypeOfQueue, postMessages } from '../../../api-client/operations.ts';
import { isForbidden, isNotFound, orElse } from '../../../api-client/refusal.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { isQueue, noSuchQueue } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/api-access.ts';
import { reportFailure } from '../../failure-report.ts';
import { INTERRUPTED } from '../../interruption.ts';
import {
  jsonText,
  option,
  parseEventType,
  parseJsonText,
  QUEUE,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed, type Result } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { clockTime, printable } from '../../output/text.ts';
import { progressBar, progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { keptDataText } from '../deliveries/delivery-text.ts';
import {
  type MessageDefaults,
  outgoingMessage,
  publishLines,
  type PublishedLine,
  type PublishLinesResult,
} from './publish-lines.ts';

type Options = DeploymentOptions &
  Partial<Record<'data' | 'id' | 'file' | 'type' | 'example', string> & Record<'ttl' | 'delay', number>> & {
    bare?: true;
    create?: true;
  };

/** `posthaste publish` */
export const publish = deployed<Options>({
  arguments: [QUEUE],
  options: [
    option('--data <JSON>', 'publish one message with this data', parseJsonText),
    option('--id <ID>', 'id of the message, with --data or --example').conflicts(['file', 'bare']),
    option('--file <FILE>', 'publish one message per line of this file; - for stdin').conflicts('data'),
    option('--bare', 'each line is the data of a message').conflicts('data'),
    option('--type <TYPE>', 'type of the messages'),
    option(
      '--example <TYPE>',
      'publish the example of this event type of the catalogue',
      parseEventType,
    ).conflicts(['data', 'file', 'bare', 'type']),
    option(
      '--ttl <SECONDS>',
      'seconds until a message expires: no attempts are made afterwards',
      wholeNumber(1),
    ),
    option('--delay <SECONDS>', 'seconds to wait before the first attempt', wholeNumber(0, 900)),
    option('--create', 'create the queue if there is none'),
  ],
  json: 'one message per line: line, and id or error; with --data or --example id, and acceptedAt of an earlier copy; noSubscription',
  more: `
Publishes one message with --data or --example, or one message per line of
--file or stdin. A line is {"data", "id"?, "type"?, "ttl"?, "delay"?}, or with
--bare only the data. Data is published unchanged, byte for byte. --type, --ttl
and --delay apply to lines without the field.

A refused line does not stop the others. A message without an id gets a new
one, so that a request can be repeated without duplicates. To publish a whole
file again safely, put ids in the file. For a message whose --id was accepted
before, the command says when: the copy makes no request. It also says if the
queue has no subscription, so that messages match nothing.

Exit status: 0 if all were published, 1 if any was not, 130 if interrupted.
`,
  examples: [
    `publish orders --type order.created --data '{"total": 1250}'`,
    'publish orders --example order.created',
    'publish orders --file orders.jsonl',
    'publish orders --bare < data.jsonl',
  ],
  run: async ({ options, terminal, refuse }, queue) => {
    const { data, id, file, type, example, ttl, delay } = options;
    const defaults = { type: jsonText(type ?? example), ttl: jsonText(ttl), delay: jsonText(delay) };
    if (data !== undefined || example !== undefined) {
      const message = { ...defaults, data, ...(id !== undefined && { id: JSON.stringify(id) }) };
      return publishOne(queue, options, message, terminal);
    }
    if (id !== undefined) refuse("option '--id' requires option '--data' or '--example'");
    if (file === undefined && terminal.stdin.isTTY === true)
      refuse('there is nothing to publish; add --data, --example or --file');
    terminal.exitStatus = await publishMany(queue, options, defaults, terminal);
    return undefined;
  },
});

async function publishOne(
  queue: string,
  options: Options,
  message: MessageDefaults & { data: string | undefined; id?: string },
  terminal: Terminal,
): Promise<Result> {
  const { api, isNew } = await openQueue(queue, options, terminal);
  const data = message.data ?? (await readExample(api, isNew ? undefined : queue, options.example ?? ''));
  const body = `{"messages":[${outgoingMessage(1, { ...message, data }).text}]}`;
  const earlier = options.id === undefined || isNew ? undefined : await findEarlier(api, queue, options.id);
  const { ids, noSubscription } = await api.call(postMessages, { path: { queue }, body });
  const [id = ''] = ids;
  const result = { id, ...(noSubscription && { noSubscription }), ...earlier };
  const text = (): string => {
    if (earlier !== undefined)
      return `${printable(id)} was accepted at ${clockTime(earlier.acceptedAt)} already: this copy makes no request.`;
    const published = `Published message ${printable(id)} to ${queue}.`;
    return noSubscription === true ? `${published}\n${unmatchedText(queue, id)}` : published;
  };
  return [result, text];
}

/** The example of an event type as JSON. `queue`: absent if it is new. @throws Problem if there is none */
async function readExample(api: ApiClient, queue: string | undefined, type: string): Promise<string> {
  const { example } = await (queue === undefined
    ? api.call(getEventType, { path: { type } })
    : api.call(getEventTypeOfQueue, { path: { queue, type } }));
  if (example !== undefined) return JSON.stringify(example);
  throw new Problem(`The event type ${type} has no example.`);
}

function unmatchedText(queue: string, id: string): string {
  return `Queue ${queue} has no active subscription, so what is published matches nothing. ${keptDataText(queue, id)}`;
}

async function openQueue(queue: string, options: Options, terminal: Terminal) {
  const api = await openApiToWrite(options, terminal);
  const isNew = !(await isQueue(api, queue));
  if (isNew && options.create !== true)
    throw new Problem(`Only --create publishes to a new queue. ${(await noSuchQueue(api, queue)).message}`);
  return { api, isNew };
}

/** When the message was accepted; undefined if this queue has none, or the caller may only publish. */
async function findEarlier(api: ApiClient, queue: string, id: string) {
  const isUnknown = (error: unknown): boolean => isNotFound(error) || isForbidden(error);
  const message = await showMessage(api, queue, id).catch(orElse(isUnknown, undefined));
  if (message === undefined || message.view.queueDeleted === true) return undefined;
  return { acceptedAt: message.view.acceptedAt };
}

async function publishMany(
  queue: string,
  options: Options,
  defaults: MessageDefaults,
  terminal: Terminal,
): Promise<number> {
  const { api } = await openQueue(queue, options, terminal);
  const report = publishReport(queue, options.json === true, terminal);
  const { end, isInterrupted } = await terminal.untilInterrupted(async (signal) => ({
    end: await publishLines(
      api,
      { queue, file: options.file ?? '-', bare: options.bare === true, defaults, signal, ...report },
      terminal,
    ),
    isInterrupted: signal.aborted,
  }));
  const isWhole = report.finish(end, isInterrupted);
  if (isInterrupted) return INTERRUPTED;
  return isWhole ? 0 : 1;
}

/** Refused lines to show, so that a wrong file does not fill the screen. */
const MAX_SHOWN = 20;

/** Reports publishing: a progress line and refused lines, or with `json` one line per message. */
function publishReport(queue: string, json: boolean, terminal: Terminal) {
  const progress = progressLine(terminal.stderr);
  let published = 0;
  let refused = 0;
  let isUnmatched = false;
  return {
    onPublished: (messages: readonly PublishedLine[]): void => {
      published += messages.length;
      isUnmatched ||= messages.some(({ noSubscription }) => noSubscription === true);
      if (json) messages.forEach(terminal.printJson);
    },
    onRefused: ({ line, why }: { line: number; why: string }): void => {
      refused += 1;
      if (json) terminal.printJson({ line, error: { message: why } });
      else if (refused <= MAX_SHOWN) {
        progress.clear();
        terminal.printError(`Line ${line}: ${printable(why)}.`);
      }
    },
    onProgress: (part: number | undefined): void => {
      const bar = part === undefined ? '' : `${progressBar(part)}  `;
      progress.show(`${bar}${published} published${refused === 0 ? '' : `, ${refused} refused`}`);
    },
    /** Prints the summary. True if every line that was read is published. */
    finish: (end: PublishLinesResult, isInterrupted: boolean): boolean => {
      progress.clear();
      const { failure, unpublished } = end;
      if (failure !== undefined) reportFailure(failure, json, terminal);
      if (!json) {
        if (refused > MAX_SHOWN) terminal.printError(`${refused - MAX_SHOWN} more lines were refused.`);
        terminal.print(summaryText(queue, { published, refused, isUnmatched }));
        if (isInterrupted || unpublished.length > 0) terminal.printError(leftText(end));
      }
      return failure === undefined && refused === 0 && unpublished.length === 0;
    },
  };
}

function summaryText(
  queue: string,
  { published, refused, isUnmatched }: { published: number; refused: number; isUnmatched: boolean },
): string {
  const counts = `Queue ${queue}: ${published} published, ${refused} refused.`;
  return isUnmatched ? `${counts}\n${unmatchedText(queue, 'ID')}` : counts;
}

function leftText({ read, unpublished }: PublishLinesResult): string {
  const lines = unpublished.length === 0 ? '' : `lines ${formatRanges(unpublished)}, and `;
  return `Not published: ${lines}all lines after line ${read}.`;
}

/** Line numbers as ranges, such as `3-5, 9`. */
export function formatRanges(lines: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const line of lines.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.to === line - 1) last.to = line;
    else ranges.push({ from: line, to: line });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
