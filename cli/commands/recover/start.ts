import { Option, type Command } from 'commander';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { startRecovery } from '../../../api-client/operations.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { removeSettledNotices } from '../../dead-letters/remove-settled.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { followRecovery } from './follow-recovery.ts';
import { recoveryLines, REPORT_JSON } from './recovery-text.ts';

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
