import { CommanderError } from 'commander';
import { reportFailure } from './failure-report.ts';
import { INTERRUPTED } from './interruption.ts';
import { programFor, wholeProgram } from './program.ts';
import { terminalIn, type Sleep, type ProcessLike, type Terminal } from './terminal.ts';

/**
 * Runs the command and returns its exit status: 0 success, 1 failure, 2 usage error (unknown command or option, invalid
 * value), 130 interrupted. The AWS SDK still reads its variables, such as AWS_PROFILE, from `process.env`.
 */
export async function runCommand(args: readonly string[], host: ProcessLike, sleep?: Sleep): Promise<number> {
  const terminal = terminalIn(host, sleep);
  const status = await statusOf(args, terminal);
  const isWritten = await terminal.allWritten();
  return status === 0 && !isWritten ? 1 : status;
}

async function statusOf(args: readonly string[], terminal: Terminal): Promise<number> {
  let json = false;
  try {
    if (args[0] === 'complete') {
      await complete(args.slice(args.indexOf('--') + 1), terminal);
      return 0;
    }
    const program = await programFor(args, terminal);
    program.hook('preAction', (_, command) => {
      json = command.opts<{ json?: true }>().json === true;
    });
    await program.parseAsync(args, { from: 'user' });
    return terminal.exitStatus;
  } catch (failure) {
    // commander has already printed the error. Requested help has exit code 0.
    if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
    if (failure instanceof Error && failure.name === 'AbortError')
      return terminal.readerLeft.aborted ? 0 : INTERRUPTED;
    reportFailure(failure, json, terminal);
    return 1;
  }
}

/** Prints what can follow the words, for the scripts of `posthaste completion`. The last word may be incomplete. */
async function complete(words: readonly string[], terminal: Terminal): Promise<void> {
  // Loaded only here: no other command needs it.
  const { default: tab } = await import('@bomb.sh/tab/commander');
  // The library adds its own command of that name.
  const program = await wholeProgram(terminal, 'completion');
  tab(program, { completionCommandName: 'completion' }).parse([...words]);
}
