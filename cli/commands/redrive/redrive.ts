import { Argument, type Command } from 'commander';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment } from '../../options/deployment-options.ts';
import { pastTimeOf, TIME_FORMS } from '../../options/time.ts';
import type { Terminal } from '../../terminal.ts';
import { type RedrivenQueue, REDRIVEN_QUEUES } from '../../../shared/domain/vocabulary.ts';
import type { RedriveOptions } from './run.ts';

const MORE = `
ingress        go back to the ingress queue, each under its old id
delivery       go back to the delivery and the retry queue; what deliver cannot read is skipped and stays
operation      recoveries and cancellations go on where they were; what operate cannot read is skipped and stays
undeliverable  deliveries that were rejected or exhausted: each is retried, under its ids, and its notice removed. A notice of one
               that is delivered, cancelled or under way again is settled: removed without a retry. What cannot be retried is
               skipped and stays

Only messages that are there when the command starts are taken. It can be interrupted and repeated at any time.
Exit status: 0; 1 when it failed; 2 when asked wrongly; 130 when interrupted.
`;

/** `posthaste redrive` */
export function addRedrive(command: Command, terminal: Terminal): void {
  command
    .addArgument(new Argument('<queue>', 'whose dead letters').choices(REDRIVEN_QUEUES))
    .option('--since <TIME>', `only those sent since: ${TIME_FORMS}`, pastTimeOf)
    .option('--limit <N>', 'at most so many', wholeNumberOf(1))
    .action(async (queue: RedrivenQueue, options: RedriveOptions) => {
      // Not loaded before: the SDK would slow everything else down.
      const { runRedrive } = await import('./run.ts');
      terminal.exitStatus = await runRedrive(queue, options, terminal);
    });
  onDeployment(command, {
    json: 'queue, redriven, skipped, left; of undeliverable settled, too',
    more: MORE,
    examples: [
      'redrive ingress',
      'redrive delivery --since 2h --limit 100 --json',
      'redrive undeliverable --since 1d',
    ],
  });
}
