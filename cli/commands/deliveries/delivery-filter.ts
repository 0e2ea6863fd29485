import { Option, type Command } from 'commander';
import { LISTED_STATUSES } from '../../../shared/domain/vocabulary.ts';
import { idOf } from '../../options/arguments.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';

/** Of a queue's deliveries. */
export function addDeliveryFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <STATUS>', 'only with this status').choices(LISTED_STATUSES))
    .option('--subscription <ID>', 'only of this subscription', idOf)
    .option('--since <TIME>', `only of messages accepted since: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'only of messages accepted before', timeOf);
}
