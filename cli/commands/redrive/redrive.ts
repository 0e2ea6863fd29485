import { Argument, type Command } from 'commander';
import { queueOf, wholeNumberOf, pastTimeOf, TIME_FORMS } from '../../options/arguments.ts';
import { onDeployment } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { type RedrivenQueue, REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import { addDeadLetterFilter, addIdOption } from '../deadletters/filter-options.ts';
import type { RedriveOptions } from './run.ts';

const MORE = `
ingress        sends dead letters back to the ingress queue, with the same
               message ids; with --to-queue to another queue of Posthaste.
               Those of a queue that was missing (unknown_queue) are skipped
               while it has no subscription: their data would be lost
delivery       sends dead letters back to the delivery and retry queues
operation      continues recoveries and cancellations where they stopped
undeliverable  retries deliveries that were rejected or exhausted, and removes
               their notices. A delivery that is delivered, cancelled or open
               by now, that ended again, or whose subscription was deleted,
               needs no retry: its notice is settled, which means removed
               without a retry

Messages that cannot be read or retried are skipped and stay in their queue.
Only messages sent before the command started are redriven. It is safe to
interrupt and repeat the command.

Exit status: 0 on success, 1 on failure or if another program hid messages, 2
for a usage error, 130 if interrupted.
`;

/** `posthaste redrive` */
export function addRedrive(command: Command, terminal: Terminal): void {
  command.addArgument(new Argument('<queue>', 'which dead letters to redrive').choices(REDRIVEN_QUEUES));
  addIdOption(addDeadLetterFilter(command))
    .option('--since <TIME>', `only messages sent since this time: ${TIME_FORMS}`, pastTimeOf)
    .option('--limit <N>', 'maximum number of messages to redrive (default: all)', wholeNumberOf(1))
    .option(
      '--to-queue <QUEUE>',
      'ingress: send the messages to this queue instead, such as for a mistyped name',
      queueOf,
    )
    .option(
      '--even-unmatched',
      'ingress: also to a queue without a subscription, which does not keep the data',
    )
    .option('--dry-run', 'change nothing, and say what would be redriven')
    .action(async (queue: RedrivenQueue, options: RedriveOptions) => {
      if (queue !== 'ingress' && (options.toQueue !== undefined || options.evenUnmatched === true))
        return command.error('error: --to-queue and --even-unmatched are for redrive ingress');
      // Loaded only here: the SDK would slow down every other command.
      const { runRedrive } = await import('./run.ts');
      terminal.exitStatus = await runRedrive(queue, options, terminal);
    });
  onDeployment(command, {
    json: 'queue, redriven, skipped, left, hidden; also settled for undeliverable, hiddenUntil, missing, dryRun',
    more: MORE,
    examples: [
      'redrive ingress --reason unknown_queue --queue ordrs --to-queue orders',
      'redrive delivery --since 2h --limit 100 --json',
      'redrive undeliverable --queue orders --since 1d',
    ],
  });
}
