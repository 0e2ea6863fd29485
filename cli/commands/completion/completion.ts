import { Argument, type Command } from 'commander';
import { isPackaged, programFile } from '../../../local/install/paths.mjs';
import { shellWord } from '../../../local/command-name.ts';
import { examplesText } from '../../options/deployment-options.ts';
import { completionScript, SHELLS, type Shell } from './scripts.ts';

const ON_PATH = isPackaged ? 'npm install --global posthaste' : 'npm link in the checkout';

const MORE = `
Completes the word posthaste. Put the command on your path: ${ON_PATH}.
Then add to
  ~/.bashrc                   source <(posthaste completion bash)
  ~/.zshrc                    source <(posthaste completion zsh)
  ~/.config/fish/config.fish  posthaste completion fish | source`;

/** `posthaste completion`. The scripts call the hidden `posthaste complete` by its file, as an alias would not work. */
export function addCompletion(command: Command): void {
  command
    .addArgument(new Argument('<shell>', 'the shell to complete commands in').choices(SHELLS))
    .action((shell: Shell) => {
      const program = [process.execPath, programFile('cli/posthaste.mjs')].map(shellWord).join(' ');
      process.stdout.write(completionScript(shell, command.parent?.name() ?? '', program));
    })
    .addHelpText('after', `${MORE}${examplesText(['completion bash'])}`);
}
