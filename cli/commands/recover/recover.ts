import { type Command, Option } from 'commander';
import { getRecovery, listRecoveries, startRecovery, stopRecovery } from '../../../api-client/operations.ts';
import { readOutcomes } from '../../../api-client/recovery-progress.ts';
import { commandText } from '../../../local/command-name.ts';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/open-api.ts';
import { removeSettledNotices } from '../../dead-letters/change.ts';
import {
  idOf,
  queueOf,
  SUBSCRIPTION,
  subscriptionOf,
  TIME_FORMS,
  timeOf,
  wholeNumberOf,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  countsOf,
  exitStatusOf,
  followRecovery,
  printReport,
  recoveryLines,
  REPORT_JSON,
} from './follow-recovery.ts';

type Options = DeploymentOptions & {
  since: number;
  until?: number;
  subscription?: string;
  status?: string;
  wait?: true;
};

const MORE = `
Gives each failed delivery of the window's messages one more round of attempts.
Without --status, these are the rejected, exhausted and cancelled ones, except
those that were cancelled manually. The recovery runs in the deployment and
continues when this command ends, also after Ctrl-C during --wait. To stop it,
use posthaste recover stop.

--wait ends with what became of the deliveries, and removes their settled
undeliverable notices, if you may. Exit status: 1 if one failed again, was
skipped or is not on record, or the recovery was stopped, else 0.
`;

/** `posthaste recover start` */
export function addRecoverStart(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('start')
    .description('Recover the failed deliveries of a time window.')
    .argument('<queue>', 'name of the queue', queueOf)
    .requiredOption('--since <TIME>', `messages accepted since this time (required): ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'messages accepted before this time (default: now)', timeOf)
    .option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, subscriptionOf)
    .addOption(
      new Option('--status <STATUS>', 'only deliveries with this status').choices(RECOVERABLE_STATUSES),
    )
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string, options: Options) => {
      const { since, until = Date.now(), subscription: given, status, wait, json } = options;
      if (until <= since) command.error('error: --until must be after --since');
      const api = await openApiToWrite(options, terminal);
      const started = await api.call(startRecovery, {
        path: { queue },
        body: JSON.stringify({
          since: timeText(since),
          until: timeText(until),
          subscription: given === undefined ? undefined : await resolveSubscription(api, queue, given),
          status,
        }),
      });
      if (wait === true) {
        const exitStatus = await followRecovery(api, started, json === true, terminal);
        terminal.exitStatus = await removeSettledNotices(exitStatus, started, options, terminal);
      } else if (json === true) terminal.printJson(started);
      else {
        const next = `To follow its progress: ${commandText(`recover status ${queue} ${printable(started.id)} --wait`)}`;
        terminal.print([...recoveryLines(started), next].join('\n'));
      }
    });
  onDeployment(command, {
    json: `${REPORT_JSON}; without --wait the recovery alone`,
    more: MORE,
    examples: [
      'recover start orders --since 6h --wait',
      'recover start orders --since 2d --until 1d --status exhausted',
    ],
  });
}

type ListOptions = DeploymentOptions & { limit?: number };

/** `posthaste recover list` */
export function addRecoverList(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('list')
    .description('List the recoveries of a queue, newest first.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--limit <N>', 'maximum number of recoveries (default: all)', wholeNumberOf(1))
    .action(async (queue: string, { limit, ...options }: ListOptions) => {
      const recoveries = (await openApi(options, terminal)).list(listRecoveries, {
        path: { queue },
        most: limit,
      });
      await printList(terminal, recoveries, {
        ...options,
        columns: COLUMNS,
        rowOf,
        none: () => `No recovery yet. Start one with ${commandText('recover start')}`,
      });
    });
  onDeployment(command, {
    json: 'one recovery per line, as in the API',
    examples: ['recover list orders --limit 5'],
  });
}

const COLUMNS = [
  { head: 'Recovery' },
  { head: 'State' },
  { head: 'Accepted since' },
  { head: 'Accepted before' },
  { head: 'Deliveries' },
];

function rowOf(recovery: RecoveryView): string[] {
  return [
    printable(recovery.id),
    recovery.state,
    clockTime(recovery.since),
    clockTime(recovery.until),
    countsOf(recovery),
  ];
}

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

type RecoverOptions = DeploymentOptions & { wait?: true };

/** `posthaste recover status` */
function addRecoverStatus(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('status')
    .description('Show the progress of a recovery, and what became of its deliveries.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<recovery>', 'id of the recovery', idOf)
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string, id: string, options: RecoverOptions) => {
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
      terminal.printResult(options, { queue, recovery: id }, () => `Stopped recovery ${printable(id)}.`);
    });
  onDeployment(command, {
    json: 'queue, recovery',
    examples: ['recover stop orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'],
  });
}
