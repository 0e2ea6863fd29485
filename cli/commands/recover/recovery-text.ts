import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { clockTime } from '../../output/time-text.ts';
import { printable } from '../../output/printable.ts';
import { fieldLines } from '../../output/table.ts';
import type { Terminal } from '../../terminal.ts';

export function printRecovery(recovery: RecoveryView, json: boolean, terminal: Terminal): void {
  if (json) terminal.printJson(recovery);
  else terminal.print(describeRecovery(recovery));
}

function describeRecovery(recovery: RecoveryView): string {
  const { id, queue, since, until, subscription, status, state, skipped, updatedAt } = recovery;
  const reasons = Object.entries(skipped).map(([reason, count]) => `${printable(reason)} ${count}`);
  return fieldLines([
    ['Recovery', printable(id)],
    ['Queue', printable(queue)],
    ['Accepted', `${clockTime(since)} to ${clockTime(until)}`],
    ['Subscription', subscription === undefined ? undefined : printable(subscription)],
    ['Status', status === undefined ? undefined : printable(status)],
    ['State', `${state}, updated ${clockTime(updatedAt)}`],
    ['Deliveries', countsOf(recovery)],
    ['Skipped', reasons.length === 0 ? undefined : reasons.join(', ')],
  ]).join('\n');
}

export function countsOf({ found, reopened, skipped }: RecoveryView): string {
  const left = Object.values(skipped).reduce((sum, count) => sum + count, 0);
  return `${found} found, ${reopened} reopened, ${left} skipped`;
}
