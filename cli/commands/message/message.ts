import { type Command, Option } from 'commander';
import { Problem } from '../../../local/install/problem.mjs';
import { parseJson, propertySource } from '../../../shared/wire/json-slice.ts';
import { openApi } from '../../api/api-client.ts';
import { eraseBody, type MessageView, showMessage } from '../../api/messages.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { fieldLines } from '../../output/table.ts';
import { clockTime } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';

export function addMessageCommands(message: Command, terminal: Terminal): void {
  addMessageShow(message, terminal);
  addMessageErase(message, terminal);
}

type Options = DeploymentOptions & { body?: true };

/** `posthaste message show` */
function addMessageShow(message: Command, terminal: Terminal): void {
  const command = message
    .command('show')
    .description('Show a message: what became of it, and its data while it is kept.')
    .argument('<queue>', 'its queue', queueOf)
    .argument('<message>', 'its id', idOf)
    .addOption(
      new Option('--body', 'print its data alone: to a file or a pipe byte for byte').conflicts('json'),
    )
    .action(async (queue: string, id: string, options: Options) => {
      const { view, text } = await showMessage(await openApi(options, terminal), queue, id);
      // Not printed anew: numbers of the data would lose digits.
      if (options.json === true) terminal.print(printableJson(text.trim()));
      else if (options.body === true) printBody(bodyIn(text), id, terminal);
      else terminal.print(describeMessage(view, bodyIn(text)));
    });
  onDeployment(command, {
    json: 'the message as the API shows it',
    examples: ['message show orders order-17', 'message show orders order-17 --body > order-17.json'],
  });
}

function bodyIn(text: string): string | undefined {
  const json = parseJson(text);
  return json === undefined ? undefined : propertySource(json, 'body');
}

function printBody(body: string | undefined, id: string, terminal: Terminal): void {
  if (body === undefined) throw new Problem(`The data of message ${id} is not kept.`);
  if (terminal.stdout.isTTY === true) terminal.print(printableJson(body));
  else terminal.stdout.write(body);
}

function describeMessage(view: MessageView, body: string | undefined): string {
  const { id, queue, type, acceptedAt, duplicates, matched, filtered, deliveries, bodyKept, erasedAt } = view;
  const states = Object.entries(deliveries).filter(([, count]) => count > 0);
  return fieldLines([
    ['Message', printable(id)],
    ['Queue', printable(queue)],
    ['Type', type === undefined ? undefined : printable(type)],
    ['Accepted', clockTime(acceptedAt)],
    ['Duplicates', String(duplicates)],
    ['Matched', `${matched} subscriptions${filtered === 0 ? '' : `, ${filtered} filtered`}`],
    ['Unfinished', view.unfinished === true ? 'not sent to all subscriptions yet' : undefined],
    ['Deliveries', states.map(([status, count]) => `${count} ${status}`).join(', ') || 'none on record yet'],
    ['Erased', clockTime(erasedAt) || undefined],
    ['Data', body === undefined ? (bodyKept ? 'kept' : 'not kept') : printableJson(body)],
  ]).join('\n');
}

const MORE = `
What is on record of it stays. It cannot be retried then, as nothing is left to send.
`;

/** `posthaste message erase` */
function addMessageErase(message: Command, terminal: Terminal): void {
  const command = message
    .command('erase')
    .description("Erase a message's data before its time.")
    .argument('<queue>', 'its queue', queueOf)
    .argument('<message>', 'its id', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      await eraseBody(await openApi(options, terminal), queue, id);
      if (options.json === true) terminal.printJson({ queue, messageId: id });
      else terminal.print(`The data of message ${printable(id)} is erased.`);
    });
  onDeployment(command, {
    json: 'queue, messageId',
    more: MORE,
    examples: ['message erase orders order-17'],
  });
}
