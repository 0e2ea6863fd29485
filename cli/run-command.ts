import { CommanderError } from 'commander';
import { reportFailure } from './failure-report.ts';
import { INTERRUPTED } from './interruption.ts';
import { programFor } from './program.ts';
import { terminalIn, type Sleep, type Surroundings, type Terminal } from './terminal.ts';

/**
 * Runs the command with these arguments and answers with its exit status: 0 done, 1 failed, 2 asked wrongly (an unknown
 * command or option, an argument that is refused), 130 interrupted.
 *
 * The AWS SDK reads its variables, such as AWS_PROFILE, from `process.env` all the same.
 */
export async function runCommand(
  args: readonly string[],
  surroundings: Surroundings,
  sleep?: Sleep,
): Promise<number> {
  const terminal = terminalIn(surroundings, sleep);
  const status = await statusOf(args, terminal);
  const isWritten = await terminal.allWritten();
  return status === 0 && !isWritten ? 1 : status;
}

async function statusOf(args: readonly string[], terminal: Terminal): Promise<number> {
  let json = false;
  try {
    const program = await programFor(args, terminal);
    program.hook('preAction', (_, command) => {
      json = command.opts<{ json?: true }>().json === true;
    });
    await program.parseAsync(args, { from: 'user' });
    return terminal.exitStatus;
  } catch (failure) {
    // commander has printed what there is to say; help that was asked for comes with status 0.
    if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
    if (failure instanceof Error && failure.name === 'AbortError')
      return terminal.readerLeft.aborted ? 0 : INTERRUPTED;
    reportFailure(failure, json, terminal);
    return 1;
  }
}
