import type { Command } from 'commander';
import { Problem } from '../../../local/install/problem.mjs';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { deleteQueue, listSubscriptions } from '../../../api-client/operations.ts';
import { findQueue } from '../../../api-client/queues.ts';
import { counted } from '../../../api-client/words.ts';
import { noSuchQueue } from '../../api/missing-queue.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { yes?: true };

const MORE = `
If the queue has subscriptions, the command asks for its name. Without a
terminal to ask on, it requires --yes.
`;

/** `posthaste queue delete` */
export function addQueueDelete(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('delete')
    .description('Delete a queue and its subscriptions, and cancel their open deliveries.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--yes', 'delete the queue even if it has subscriptions, without a question')
    .action(async (name: string, options: Options) => {
      const api = await openApiToWrite(options, terminal);
      if ((await findQueue(api, name)) === undefined) throw await noSuchQueue(api, name);
      const count = options.yes === true ? 'none' : await countedSubscriptions(api, name);
      if (count !== 'none') {
        const answer = await terminal.ask(`Queue ${name} has ${count}. Type its name to delete them too: `);
        if (answer === undefined)
          return command.error(`error: queue ${name} has ${count}; add --yes to delete them too`);
        if (answer.trim() !== name) throw new Problem('That is not its name: nothing was deleted.');
      }
      await api.call(deleteQueue, { path: { queue: name } });
      if (options.json === true) terminal.printJson({ queue: name });
      else terminal.print(`Deleted queue ${name}.`);
    });
  onDeployment(command, { json: 'queue', more: MORE, examples: ['queue delete orders'] });
}

/** Counting stops here, at one page. */
const MAX_COUNTED = 100;

async function countedSubscriptions(api: ApiClient, queue: string): Promise<string> {
  const { items, more } = await api.items(listSubscriptions, { path: { queue }, most: MAX_COUNTED });
  if (items.length === 0) return 'none';
  return more
    ? `more than ${items.length} subscriptions`
    : counted(items.length, 'subscription', 'subscriptions');
}
