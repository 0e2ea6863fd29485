import type { Command } from 'commander';
import { putQueue } from '../../../api-client/operations.ts';
import { findQueue } from '../../../api-client/queues.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { jsonObjectOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { withMembers } from '../../options/json-text.ts';
import { policyOf } from '../../options/retry-policy.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { metadata?: string; policy?: string };

/** `posthaste queue create` */
export function addQueueCreate(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('create')
    .description('Create a queue. Fails if it exists.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--metadata <JSON>', 'metadata, as a JSON object', jsonObjectOf)
    .option(
      '--policy <POLICY>',
      'retry policy, as JSON or a preset (_retry_policy in the metadata)',
      policyOf,
    )
    .action(async (name: string, { metadata = '{}', policy, ...options }: Options) => {
      const api = await openApiToWrite(options, terminal);
      // PUT would replace the metadata of an existing queue.
      if ((await findQueue(api, name)) !== undefined) {
        throw new Problem(`Queue ${name} already exists. To change it, use ${commandText('queue set')}`);
      }
      await api.call(putQueue, {
        path: { queue: name },
        body: withMembers(metadata, [['_retry_policy', policy]]),
      });
      if (options.json === true) terminal.printJson({ queue: name });
      else terminal.print(`Created queue ${name}.`);
    });
  onDeployment(command, {
    json: 'queue',
    examples: [
      'queue create orders',
      'queue create orders --policy patient',
      `queue create orders --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
    ],
  });
}
