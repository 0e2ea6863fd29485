import type { Command } from 'commander';
import type { DeadLetterFilter } from '../../dead-letters/look.ts';
import { collect, idOf, queueOf } from '../../options/arguments.ts';

/** Adds the options that choose dead letters by what they say. */
export function addDeadLetterFilter(command: Command): Command {
  return command
    .option('--queue <QUEUE>', 'only messages of this queue', queueOf)
    .option('--subscription <ID>', 'only messages for this subscription, by the beginning of its id', idOf)
    .option('--reason <REASON>', 'only messages with this reason; none: SQS moved them here', idOf);
}

export function addIdOption(command: Command): Command {
  return command.option(
    '--id <ID>',
    'only this message, by its SQS message id or the beginning of it; may be repeated',
    collect(idOf),
  );
}

/** The filter among the options of a command. */
export function filterOf({ queue, subscription, reason, id }: DeadLetterFilter): DeadLetterFilter {
  return { queue, subscription, reason, id };
}
