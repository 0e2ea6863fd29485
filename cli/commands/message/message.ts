import { type Command, Option } from 'commander';
import { Problem } from '../../../local/install/problem.mjs';
import { dataIn, type MessageView, showMessage } from '../../../api-client/messages.ts';
import { eraseBody } from '../../../api-client/operations.ts';
import { counted } from '../../../api-client/words.ts';
import { openApi, openApiToWrite } from '../../api/open-api.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { fieldLines } from '../../output/list.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';

export function addMessageCommands(message: Command, terminal: Terminal): void {
  addMessageShow(message, terminal);
  addMessageErase(message, terminal);
}

/** `posthaste message show` */
function addMessageShow(message: Command, terminal: Terminal): void {
  const command = message
    .command('show')
    .description('Show a message: its deliveries by status, and its data while it is kept.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<message>', 'id of the message', idOf)
    .addOption(
      new Option('--body', 'print only the data, byte for byte unless stdout is a terminal').conflicts(
        'json',
      ),
    )
    .action(async (queue: string, id: string, options: DeploymentOptions & { body?: true }) => {
      const shown = await showMessage(await openApi(options, terminal), queue, id);
      // The response text is printed unchanged: parsing would drop digits of long numbers.
      if (options.json === true) terminal.print(printableJson(shown.text.trim()));
      else if (options.body === true) printBody(dataIn(shown), id, terminal);
      else terminal.print(describeMessage(shown.view, dataIn(shown)));
    });
  onDeployment(command, {
    json: 'the message, as in the API',
    examples: ['message show orders order-17', 'message show orders order-17 --body > order-17.json'],
  });
}

function printBody(body: string | undefined, id: string, terminal: Terminal): void {
  if (body === undefined)
    throw new Problem(
      `The data of message ${id} is not kept: it was erased, it expired, or none of its deliveries failed.`,
    );
  if (terminal.stdout.isTTY === true) terminal.print(printableJson(body));
  else terminal.stdout.write(body);
}

function describeMessage(view: MessageView, body: string | undefined): string {
  const { id, queue, type, acceptedAt, duplicates, bodyKept, erasedAt } = view;
  return fieldLines([
    ['Message', printable(id)],
    ['Queue', printable(queue)],
    ['Type', type === undefined ? undefined : printable(type)],
    ['Accepted', clockTime(acceptedAt)],
    ['Duplicates', String(duplicates)],
    ['Matched', matchesText(view)],
    ['Fan-out', view.unfinished === true ? 'in progress: not sent to all subscriptions yet' : undefined],
    ['Deliveries', deliveriesText(view)],
    ['Erased', clockTime(erasedAt) || undefined],
    ['Data', body === undefined ? (bodyKept ? 'kept' : 'not kept') : printableJson(body)],
  ]).join('\n');
}

function deliveriesText({ deliveries, deliveriesAtLeast }: MessageView): string {
  const states = Object.entries(deliveries).filter(([, count]) => count > 0);
  const text = states.map(([status, count]) => `${count} ${status}`).join(', ') || 'none yet';
  return deliveriesAtLeast === true ? `at least ${text}` : text;
}

function matchesText({ matched, filtered }: MessageView): string {
  const subscriptions = counted(matched, 'subscription', 'subscriptions');
  return filtered === 0 ? subscriptions : `${subscriptions}, ${filtered} filtered`;
}

const MORE = `
The record of the message and its deliveries stays. Without the data, no
delivery of the message can be retried.
`;

/** `posthaste message erase` */
function addMessageErase(message: Command, terminal: Terminal): void {
  const command = message
    .command('erase')
    .description('Erase the data of a message before it expires.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<message>', 'id of the message', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      await api.call(eraseBody, { path: { queue, message: id } });
      terminal.printResult(
        options,
        { queue, messageId: id },
        () => `Erased the data of message ${printable(id)}.`,
      );
    });
  onDeployment(command, {
    json: 'queue, messageId',
    more: MORE,
    examples: ['message erase orders order-17'],
  });
}
