import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { findQueue, putQueue } from '../../api/queues.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { jsonObjectOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { withMembers } from '../../options/json-text.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { metadata?: string; policy?: string };

/** `posthaste queue create` */
export function addQueueCreate(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('create')
    .description('Create a queue. One that is there already is left as it is.')
    .argument('<queue>', 'its name', queueOf)
    .option('--metadata <JSON>', 'an object', jsonObjectOf)
    .option('--policy <JSON>', 'its retry policy: _retry_policy in the metadata', jsonObjectOf)
    .action(async (name: string, { json, metadata = '{}', policy, ...choice }: Options) => {
      const api = await openApi(choice, terminal);
      // A PUT would replace the metadata of a queue that is there.
      if ((await findQueue(api, name)) !== undefined) {
        throw new Problem(`There is a queue ${name} already. posthaste queue set changes it.`);
      }
      await putQueue(api, name, withMembers(metadata, [['_retry_policy', policy]]));
      if (json === true) terminal.printJson({ queue: name });
      else terminal.print(`Queue ${name} is created.`);
    });
  onDeployment(command, {
    json: 'queue',
    examples: [
      'queue create orders',
      `queue create orders --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
    ],
  });
}
