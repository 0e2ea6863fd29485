import { Option, type Command } from 'commander';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/vocabulary.ts';
import { openApi } from '../../api/api-client.ts';
import { startRecovery } from '../../api/recoveries.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { TIME_FORMS, timeOf, timeText } from '../../options/time.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { followRecovery } from './follow-recovery.ts';
import { printRecovery } from './recovery-text.ts';

type Options = DeploymentOptions & {
  since: number;
  until?: number;
  subscription?: string;
  status?: string;
  wait?: true;
};

const MORE = `
Every failed delivery of the messages that were accepted in this time gets another round, once. It is done by the deployment, and
goes on when this command ends; Ctrl-C under --wait does not stop it either.
`;

/** `posthaste recover start` */
export function addRecoverStart(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('start')
    .description('Replay the failed deliveries of a queue.')
    .argument('<queue>', 'its name', queueOf)
    .requiredOption('--since <TIME>', `of messages accepted since: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'of messages accepted before (default: now)', timeOf)
    .option('--subscription <ID>', 'only of this subscription', idOf)
    .addOption(new Option('--status <STATUS>', 'only with this status').choices(RECOVERABLE_STATUSES))
    .option('--wait', 'wait until it is done, and show how far it is')
    .action(async (queue: string, options: Options) => {
      const { since, until = Date.now(), subscription, status, wait, json } = options;
      if (until <= since) command.error('error: --until has to be after --since');
      const api = await openApi(options, terminal);
      const started = await startRecovery(api, queue, {
        since: timeText(since),
        until: timeText(until),
        ...(subscription !== undefined && { subscription }),
        ...(status !== undefined && { status }),
      });
      if (wait === true) terminal.exitStatus = await followRecovery(api, started, json === true, terminal);
      else {
        printRecovery(started, json === true, terminal);
        if (json !== true)
          terminal.print(`How far it is: posthaste recover status ${queue} ${printable(started.id)} --wait`);
      }
    });
  onDeployment(command, {
    json: 'the recovery as the API shows it',
    more: MORE,
    examples: [
      'recover start orders --since 6h --wait',
      'recover start orders --since 2d --until 1d --status exhausted',
    ],
  });
}
