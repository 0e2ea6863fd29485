import { Argument, type Command } from 'commander';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { idOf, wholeNumberOf, pastTimeOf, TIME_FORMS } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import type { DeleteOptions, ListOptions } from './run.ts';
import { addDeadLetterFilter, addIdOption } from './filter-options.ts';

const LOOK = `
A look receives the messages, so other programs do not see them meanwhile, and
SQS counts one more receive. They are visible again at the end, after Ctrl-C and
after a failure; only a killed look hides them, for a minute.

Exit status: 0 on success, 1 on failure or if another program hid messages, 130
if interrupted.
`;

/** `posthaste deadletters list`, `show` and `delete` */
export function addDeadLetterCommands(deadLetters: Command, terminal: Terminal): void {
  addList(deadLetters, terminal);
  addShow(deadLetters, terminal);
  addDelete(deadLetters, terminal);
}

function whichArgument(flags: string): Argument {
  return new Argument(flags, 'which dead letters').choices(REDRIVEN_QUEUES);
}

function addList(deadLetters: Command, terminal: Terminal): void {
  const command = deadLetters
    .command('list')
    .description('List dead letters and undeliverable notices, with their reasons.')
    .addArgument(whichArgument('[which]'));
  addDeadLetterFilter(command)
    .option('--since <TIME>', `only messages sent since this time: ${TIME_FORMS}`, pastTimeOf)
    .option(
      '--limit <N>',
      'maximum number of messages of each queue (default: 100)',
      wholeNumberOf(1, 10_000),
    )
    .action(async (which: RedrivenQueue | undefined, options: ListOptions) => {
      // Loaded only here, as the others below: the SDK would slow down every other command.
      const { runList } = await import('./run.ts');
      terminal.exitStatus = await runList(which, options, terminal);
    });
  onDeployment(command, {
    json: 'one dead letter per line',
    more: LOOK,
    examples: ['deadletters list', 'deadletters list ingress --reason not_json --since 2d'],
  });
}

function addShow(deadLetters: Command, terminal: Terminal): void {
  const command = deadLetters
    .command('show')
    .description('Show a dead letter with its body and attributes. Credentials are redacted.')
    .addArgument(whichArgument('<which>'))
    .argument('<id>', 'SQS message id, or the beginning of it', idOf)
    .action(async (which: RedrivenQueue, id: string, options: DeploymentOptions) => {
      const { runShow } = await import('./run.ts');
      await runShow(which, id, options, terminal);
    });
  onDeployment(command, {
    json: 'the dead letter',
    more: LOOK,
    examples: ['deadletters show ingress 0b8d4c4e'],
  });
}

const DELETE = `
Deleted dead letters cannot be restored. On a terminal the command asks first,
with their number; otherwise it needs --yes.

--settled deletes undeliverable notices that need nothing more: those of
deliveries that were delivered or cancelled since, or ended again, which made
a newer notice, and those of deleted subscriptions.

Exit status: 0 on success, 1 on failure, if another program hid messages or if
the answer was no, 2 for a usage error, 130 if interrupted.
`;

function addDelete(deadLetters: Command, terminal: Terminal): void {
  const command = deadLetters
    .command('delete')
    .description('Delete dead letters: chosen ones, settled notices, or all of a queue.')
    .addArgument(whichArgument('<which>'));
  addIdOption(addDeadLetterFilter(command))
    .option('--since <TIME>', `only messages sent since this time: ${TIME_FORMS}`, pastTimeOf)
    .option('--settled', 'only undeliverable notices that need nothing more')
    .option('--all', 'all messages of the queue')
    .option('--dry-run', 'change nothing, and say what would be deleted')
    .option('--yes', 'do not ask')
    .action(async (which: RedrivenQueue, options: DeleteOptions) => {
      const { id, queue, subscription, reason, since, settled, all } = options;
      const chosen = [id, queue, subscription, reason, since, settled].some((given) => given !== undefined);
      if (chosen === (all === true)) command.error(`error: ${all === true ? CONFLICT : NOTHING_CHOSEN}`);
      if (settled === true && which !== 'undeliverable')
        command.error('error: --settled is for undeliverable notices only');
      const { runDelete } = await import('./run.ts');
      terminal.exitStatus = await runDelete(which, options, terminal);
    });
  onDeployment(command, {
    json: 'which, deleted, skipped, left, hidden; also hiddenUntil, missing, dryRun',
    more: DELETE,
    examples: [
      'deadletters delete ingress --reason not_json --dry-run',
      'deadletters delete undeliverable --settled --yes',
    ],
  });
}

const NOTHING_CHOSEN = 'choose messages with --id, a filter or --settled, or delete all of them with --all';
const CONFLICT = '--all cannot be combined with options that choose messages';
