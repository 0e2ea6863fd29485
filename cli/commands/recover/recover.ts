import type { Command } from 'commander';
import { getRecovery, stopRecovery } from '../../../api-client/operations.ts';
import { readOutcomes } from '../../../api-client/recovery-progress.ts';
import { openApi, openApiToWrite } from '../../api/open-api.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { exitStatusOf, followRecovery } from './follow-recovery.ts';
import { addRecoverList } from './list.ts';
import { printReport, REPORT_JSON } from './recovery-text.ts';
import { addRecoverStart } from './start.ts';

export function addRecoverCommands(recover: Command, terminal: Terminal): void {
  addRecoverStart(recover, terminal);
  addRecoverStatus(recover, terminal);
  addRecoverList(recover, terminal);
  addRecoverStop(recover, terminal);
}

const STATUS_MORE = `
Exit status: 1 if a delivery failed again, was skipped or is not on record, or
the recovery was stopped, else 0.
`;

type Options = DeploymentOptions & { wait?: true };

/** `posthaste recover status` */
function addRecoverStatus(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('status')
    .description('Show the progress of a recovery, and what became of its deliveries.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<recovery>', 'id of the recovery', idOf)
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string, id: string, options: Options) => {
      const api = await openApi(options, terminal);
      const recovery = await api.call(getRecovery, { path: { queue, recovery: id } });
      const json = options.json === true;
      if (options.wait === true) {
        terminal.exitStatus = await followRecovery(api, recovery, json, terminal);
        return;
      }
      const report = { recovery, outcomes: await readOutcomes(api, recovery) };
      await printReport(report, api, json, terminal);
      terminal.exitStatus = exitStatusOf(report);
    });
  onDeployment(command, {
    json: REPORT_JSON,
    more: STATUS_MORE,
    examples: ['recover status orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10 --wait'],
  });
}

/** `posthaste recover stop` */
function addRecoverStop(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('stop')
    .description('Stop a recovery. Deliveries that it has reopened continue.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<recovery>', 'id of the recovery', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      await (await openApiToWrite(options, terminal)).call(stopRecovery, { path: { queue, recovery: id } });
      if (options.json === true) terminal.printJson({ queue, recovery: id });
      else terminal.print(`Stopped recovery ${printable(id)}.`);
    });
  onDeployment(command, {
    json: 'queue, recovery',
    examples: ['recover stop orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'],
  });
}
