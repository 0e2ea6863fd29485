import type { RecoveryView } from '../../shared/wire/views/recovery.ts';
import { counted } from '../../api-client/words.ts';
import { queuesBelongTo } from '../api/api-access.ts';
import { commandText } from '../../local/command-name.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { failureText } from '../failure-report.ts';
import { INTERRUPTED } from '../interruption.ts';
import { printable } from '../output/printable.ts';
import type { Terminal } from '../terminal.ts';

const MAX_MS = 40_000;

type Selection = Pick<RecoveryView, 'queue' | 'subscription' | 'status' | 'since' | 'until'>;

/**
 * Removes the undeliverable notices that a recovery has settled: those of the deliveries of its selection that need
 * nothing more. Best effort: prints one line on stderr if it removed some, or could not. Returns the given exit status.
 */
export async function removeSettledNotices(
  exitStatus: number,
  { queue, subscription, ...recovered }: Selection,
  choice: DeploymentChoice,
  terminal: Terminal,
): Promise<number> {
  if (exitStatus === INTERRUPTED || !queuesBelongTo(choice, terminal.env)) return exitStatus;
  try {
    await terminal.untilInterrupted(async (signal) => {
      // Loaded only here: the SDK would slow down a recovery without --wait.
      const { openDeadLetters } = await import('./dead-letter-access.ts');
      const { deleteDeadLetters } = await import('./change.ts');
      const access = await openDeadLetters(choice, terminal);
      const { handled } = await deleteDeadLetters(access, 'undeliverable', {
        filter: { queue, subscription },
        settled: true,
        recovered,
        startedAt: Infinity,
        signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]),
      });
      if (handled === 0) return;
      const notices = counted(handled, 'settled notice', 'settled notices');
      terminal.printError(`Removed ${notices} from the undeliverable queue of ${printable(access.place)}.`);
    });
  } catch (error) {
    terminal.printError(
      `Settled notices stay in the undeliverable queue (${printable(failureText(error))}). ` +
        `To remove them: ${commandText('deadletters delete undeliverable --settled')}`,
    );
  }
  return exitStatus;
}
