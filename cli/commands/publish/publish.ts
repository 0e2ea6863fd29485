import { Option, type Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { postMessages } from '../../api/messages.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { jsonOf, queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { textOf } from '../../options/json-text.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { outgoing, type Defaults } from './message-line.ts';
import { publishLines } from './publish-lines.ts';
import { publishReport } from './publish-report.ts';

type Options = DeploymentOptions & {
  data?: string;
  id?: string;
  file?: string;
  bare?: true;
  type?: string;
  ttl?: number;
  delay?: number;
};

const MORE = `
One message with --data; else a message a line, from --file or stdin: {"data", "id"?, "type"?, "ttl"?, "delay"?}, or with --bare
the data alone. Data goes out as it is written, byte for byte. --type, --ttl and --delay are for lines without their own.

A line that is refused keeps none of the others back. A message without an id gets one, so that what is sent again because an
answer was lost is no second message; to repeat a whole file safely, give the ids yourself.

Exit status: 1 if a line was refused or it broke off, 130 when interrupted.
`;

/** `posthaste publish` */
export function addPublish(command: Command, terminal: Terminal): void {
  command
    .argument('<queue>', "the queue's name", queueOf)
    .option('--data <JSON>', 'one message with this data', jsonOf)
    .addOption(new Option('--id <ID>', 'its id').conflicts(['file', 'bare']))
    .addOption(new Option('--file <FILE>', 'a message a line; - for stdin').conflicts('data'))
    .addOption(new Option('--bare', 'the lines are data').conflicts('data'))
    .option('--type <TYPE>', 'of the messages')
    .option('--ttl <SECONDS>', 'attempts are made for so long', wholeNumberOf(1))
    .option('--delay <SECONDS>', 'the first attempt is made so much later', wholeNumberOf(0, 900))
    .action(async (queue: string, options: Options) => {
      const { data, id, file } = options;
      const defaults = defaultsOf(options);
      if (data !== undefined) {
        const message = { ...defaults, data, ...(id !== undefined && { id: JSON.stringify(id) }) };
        await publishOne(queue, options, message, terminal);
        return;
      }
      if (id !== undefined) command.error("error: option '--id' needs option '--data'");
      if (file === undefined && terminal.stdin.isTTY === true)
        command.error('error: nothing to publish: give --data or --file');
      terminal.exitStatus = await publishMany(queue, options, defaults, terminal);
    });
  onDeployment(command, {
    json: 'one message a line: line, and id or error; with --data id',
    more: MORE,
    examples: [
      `publish orders --type order.created --data '{"total": 1250}'`,
      'publish orders --file orders.jsonl',
      'publish orders --bare < data.jsonl',
    ],
  });
}

function defaultsOf({ type, ttl, delay }: Options): Defaults {
  const texts = { type: textOf(type), ttl: textOf(ttl), delay: textOf(delay) };
  return {
    ...(texts.type !== undefined && { type: texts.type }),
    ...(texts.ttl !== undefined && { ttl: texts.ttl }),
    ...(texts.delay !== undefined && { delay: texts.delay }),
  };
}

async function publishOne(
  queue: string,
  options: Options,
  message: Parameters<typeof outgoing>[1],
  terminal: Terminal,
): Promise<void> {
  const body = `{"messages":[${outgoing(1, message).text}]}`;
  const [id = ''] = await postMessages(await openApi(options, terminal), queue, { body });
  if (options.json === true) terminal.printJson({ id });
  else terminal.print(`Message ${printable(id)} is published to ${queue}.`);
}

async function publishMany(
  queue: string,
  options: Options,
  defaults: Defaults,
  terminal: Terminal,
): Promise<number> {
  const api = await openApi(options, terminal);
  const report = publishReport(queue, options.json === true, terminal);
  const { end, isInterrupted } = await terminal.untilInterrupted(async (signal) => ({
    end: await publishLines(
      api,
      { queue, file: options.file ?? '-', bare: options.bare === true, defaults, signal, ...report },
      terminal,
    ),
    isInterrupted: signal.aborted,
  }));
  const isWhole = report.finish(end);
  if (isInterrupted) return INTERRUPTED;
  return isWhole ? 0 : 1;
}
