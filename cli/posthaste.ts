import { Command, CommanderError } from 'commander';
import { failureText } from './failure-text.ts';
import { addPolicyPreview } from './policy-preview.ts';
import { addRedrive } from './redrive.ts';

// Exit status: 0 done, 1 failed, 2 asked wrongly (an unknown command or option, an argument that is refused), 130
// interrupted.

const program = new Command('posthaste')
  .description("The operator's command for Posthaste.")
  .showHelpAfterError()
  .exitOverride();

const policy = program.command('policy').description('Retry policies.');
addPolicyPreview(policy);
addRedrive(program);

/** Output that cannot be written fails in a sentence; a reader that has seen enough (`posthaste … | head`) is no failure. */
const reportLostOutput = (error: NodeJS.ErrnoException): void => {
  if (error.code === 'EPIPE') return;
  process.exitCode = 1;
  console.error(`posthaste: the output could not be written: ${error.message}`);
};

const exitStatusOf = (failure: unknown): number => {
  // commander has printed what there is to say; help that was asked for comes with status 0.
  if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
  console.error(`posthaste: ${failureText(failure)}`);
  return 1;
};

process.stdout.on('error', reportLostOutput);
process.stderr.on('error', () => {
  // There is nowhere left to say it; the exit status still tells.
  process.exitCode ??= 1;
});
try {
  await program.parseAsync();
} catch (failure) {
  process.exitCode = exitStatusOf(failure);
}
