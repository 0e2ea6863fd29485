import { Option, type Command } from 'commander';
import { postMessages } from '../../../api-client/operations.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { showMessage } from '../../../api-client/messages.ts';
import { isForbidden, isNotFound, orElse } from '../../../api-client/refusal.ts';
import { isQueue, noSuchQueue } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { INTERRUPTED } from '../../interruption.ts';
import { jsonOf, queueOf, wholeNumberOf, textOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import { outgoingMessage, type MessageDefaults, publishLines } from './publish-lines.ts';
import { publishReport } from './publish-report.ts';

type Options = DeploymentOptions & {
  data?: string;
  id?: string;
  file?: string;
  bare?: true;
  type?: string;
  ttl?: number;
  delay?: number;
  create?: true;
};

const MORE = `
Publishes one message with --data, or one message per line of --file or stdin.
A line is {"data", "id"?, "type"?, "ttl"?, "delay"?}, or with --bare only the
data. Data is published unchanged, byte for byte. --type, --ttl and --delay
apply to lines without the field.

A refused line does not stop the others. A message without an id gets a new
one, so that a request can be repeated without duplicates. To publish a whole
file again safely, put ids in the file. For a message whose --id was accepted
before, the command says when: the copy makes no request.

Exit status: 0 if all were published, 1 if any was not, 130 if interrupted.
`;

/** `posthaste publish` */
export function addPublish(command: Command, terminal: Terminal): void {
  command
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--data <JSON>', 'publish one message with this data', jsonOf)
    .addOption(new Option('--id <ID>', 'id of the message, with --data').conflicts(['file', 'bare']))
    .addOption(
      new Option('--file <FILE>', 'publish one message per line of this file; - for stdin').conflicts('data'),
    )
    .addOption(new Option('--bare', 'each line is the data of a message').conflicts('data'))
    .option('--type <TYPE>', 'type of the messages')
    .option(
      '--ttl <SECONDS>',
      'seconds until a message expires: no attempts are made afterwards',
      wholeNumberOf(1),
    )
    .option('--delay <SECONDS>', 'seconds to wait before the first attempt', wholeNumberOf(0, 900))
    .option('--create', 'create the queue if there is none')
    .action(async (queue: string, options: Options) => {
      const { data, id, file, type, ttl, delay } = options;
      const defaults = { type: textOf(type), ttl: textOf(ttl), delay: textOf(delay) };
      if (data !== undefined) {
        const message = { ...defaults, data, ...(id !== undefined && { id: JSON.stringify(id) }) };
        await publishOne(queue, options, message, terminal);
        return;
      }
      if (id !== undefined) command.error("error: option '--id' requires option '--data'");
      if (file === undefined && terminal.stdin.isTTY === true)
        command.error('error: there is nothing to publish; add --data or --file');
      terminal.exitStatus = await publishMany(queue, options, defaults, terminal);
    });
  onDeployment(command, {
    json: 'one message per line: line, and id or error; with --data id, and acceptedAt of an earlier copy',
    more: MORE,
    examples: [
      `publish orders --type order.created --data '{"total": 1250}'`,
      'publish orders --file orders.jsonl',
      'publish orders --bare < data.jsonl',
    ],
  });
}

async function publishOne(
  queue: string,
  options: Options,
  message: Parameters<typeof outgoingMessage>[1],
  terminal: Terminal,
): Promise<void> {
  const body = `{"messages":[${outgoingMessage(1, message).text}]}`;
  const { api, isNew } = await openQueue(queue, options, terminal);
  const earlier = options.id === undefined || isNew ? undefined : await findMessage(api, queue, options.id);
  const { ids } = await api.call(postMessages, { path: { queue }, body });
  const [id = ''] = ids;
  if (options.json === true) terminal.printJson({ id, ...earlier });
  else if (earlier === undefined) terminal.print(`Published message ${printable(id)} to ${queue}.`);
  else {
    const at = clockTime(earlier.acceptedAt);
    terminal.print(`${printable(id)} was accepted at ${at} already: this copy makes no request.`);
  }
}

async function openQueue(
  queue: string,
  options: Options,
  terminal: Terminal,
): Promise<{ api: ApiClient; isNew: boolean }> {
  const api = await openApiToWrite(options, terminal);
  const isNew = !(await isQueue(api, queue));
  if (isNew && options.create !== true)
    throw new Problem(`Only --create publishes to a new queue. ${(await noSuchQueue(api, queue)).message}`);
  return { api, isNew };
}

/** When the message was accepted; undefined if it was not, or the caller may only publish. */
async function findMessage(
  api: ApiClient,
  queue: string,
  id: string,
): Promise<{ acceptedAt: string } | undefined> {
  const isUnknown = (error: unknown): boolean => isNotFound(error) || isForbidden(error);
  const message = await showMessage(api, queue, id).catch(orElse(isUnknown, undefined));
  return message && { acceptedAt: message.view.acceptedAt };
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
