import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { stopRecovery } from '../../api/recoveries.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste recover stop` */
export function addRecoverStop(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('stop')
    .description('Stop a recovery. What it has reopened goes on.')
    .argument('<queue>', 'its queue', queueOf)
    .argument('<recovery>', 'its id', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      await stopRecovery(await openApi(options, terminal), queue, id);
      if (options.json === true) terminal.printJson({ queue, recovery: id });
      else terminal.print(`Recovery ${printable(id)} is stopped.`);
    });
  onDeployment(command, {
    json: 'queue, recovery',
    examples: ['recover stop orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'],
  });
}
