import { Option, type Command } from 'commander';
import { idOf } from '../../options/arguments.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';

/** Those that the listing of a queue has: the delivered ones are found by their message. */
const STATUSES = ['pending', 'retrying', 'rejected', 'exhausted', 'cancelled'];

/** Of a queue's deliveries. */
export function addDeliveryFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <STATUS>', 'only with this status').choices(STATUSES))
    .option('--subscription <ID>', 'only of this subscription', idOf)
    .option('--since <TIME>', `only of messages accepted since: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'only of messages accepted before', timeOf);
}
