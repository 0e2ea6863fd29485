import type { RecoveryView } from '../../shared/wire/views/recovery.ts';
import { queuesBelongTo } from '../api/api-access.ts';
import { commandText } from '../command-name.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { failureText } from '../failure-text.ts';
import { INTERRUPTED } from '../interruption.ts';
import { counted } from '../output/counted.ts';
import { printable } from '../output/printable.ts';
import type { Terminal } from '../terminal.ts';

const MOST_MS = 40_000;

/**
 * Removes the undeliverable notices that a recovery has settled: those of its queue and subscription that need nothing
 * more. Best effort: prints one line on stderr if it removed some, or could not. Returns the given exit status.
 */
export async function removeSettledNotices(
  exitStatus: number,
  { queue, subscription }: Pick<RecoveryView, 'queue' | 'subscription'>,
  choice: DeploymentChoice,
  terminal: Terminal,
): Promise<number> {
  if (exitStatus === INTERRUPTED || !queuesBelongTo(choice, terminal.env)) return exitStatus;
  try {
    const removed = await terminal.untilInterrupted((signal) =>
      removeNow({ queue, subscription }, choice, terminal, signal),
    );
    if (removed > 0)
      terminal.printError(
        `Removed ${counted(removed, 'settled notice', 'settled notices')} from the undeliverable queue.`,
      );
  } catch (error) {
    terminal.printError(
      `Settled notices stay in the undeliverable queue (${printable(failureText(error))}). ` +
        `To remove them: ${commandText('deadletters delete undeliverable --settled')}`,
    );
  }
  return exitStatus;
}

async function removeNow(
  { queue, subscription }: { queue: string; subscription: string | undefined },
  choice: DeploymentChoice,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  // Loaded only here: the SDK would slow down a recovery without --wait.
  const { openDeadLetters } = await import('./dead-letter-access.ts');
  const { deleteDeadLetters } = await import('./change.ts');
  const { handled } = await deleteDeadLetters(await openDeadLetters(choice, terminal), 'undeliverable', {
    filter: { queue, ...(subscription !== undefined && { subscription }) },
    settled: true,
    startedAt: Infinity,
    signal: AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]),
    onProgress: () => undefined,
  });
  return handled;
}
