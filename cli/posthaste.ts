import { CommanderError } from 'commander';
import { reportFailure } from './failure-report.ts';
import { INTERRUPTED } from './interruption.ts';
import { readerLeft, watchOutput } from './output/lost-output.ts';
import { programFor } from './program.ts';

// Exit status: 0 done, 1 failed, 2 asked wrongly (an unknown command or option, an argument that is refused), 130
// interrupted.

let json = false;

const exitStatusOf = (failure: unknown): number => {
  // commander has printed what there is to say; help that was asked for comes with status 0.
  if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
  if (failure instanceof Error && failure.name === 'AbortError') return readerLeft.aborted ? 0 : INTERRUPTED;
  reportFailure(failure, json);
  return 1;
};

watchOutput();
try {
  const program = await programFor(process.argv.slice(2));
  program.hook('preAction', (_, command) => {
    json = command.opts<{ json?: true }>().json === true;
  });
  await program.parseAsync();
} catch (failure) {
  process.exitCode = exitStatusOf(failure);
}
