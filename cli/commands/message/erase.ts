import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { eraseBody } from '../../api/messages.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

const MORE = `
What is on record of it stays. It cannot be retried then, as nothing is left to send.
`;

/** `posthaste message erase` */
export function addMessageErase(message: Command, terminal: Terminal): void {
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
