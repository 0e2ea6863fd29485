import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { showRecovery } from '../../api/recoveries.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { countsOf, printRecovery } from './recovery-text.ts';

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 5 };

/**
 * Waits until the recovery has ended, and returns the exit status. After an interruption the recovery itself continues.
 */
export async function followRecovery(
  api: ApiClient,
  started: RecoveryView,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  const progress = progressLine(terminal.stderr, () => Date.now());
  let last = started;
  const isInterrupted = await terminal
    .untilInterrupted(async (signal) => {
      let interval = pollInterval(POLLING);
      try {
        while (last.state === 'running') {
          progress.show(`Recovery ${last.id}: ${countsOf(last)}`);
          await terminal.sleep(interval.wait * 1000, signal);
          const now = await showRecovery(api, last.queue, last.id, signal);
          interval = now.found > last.found ? interval.afterMessage() : interval.afterEmpty();
          last = now;
        }
        return false;
      } catch (error) {
        if (!signal.aborted) throw error;
        return true;
      }
    })
    .finally(progress.clear);
  printRecovery(last, json, terminal);
  if (isInterrupted) return INTERRUPTED;
  return last.state === 'completed' ? 0 : 1;
}
