import { script } from '@bomb.sh/tab';
import { Argument, type Command } from 'commander';
import { examplesText } from '../../options/deployment-options.ts';

const MORE = `
Needs posthaste on the path: run npm link in the checkout. Then add to
  ~/.bashrc                   source <(posthaste completion bash)
  ~/.zshrc                    source <(posthaste completion zsh)
  ~/.config/fish/config.fish  posthaste completion fish | source`;

/** `posthaste completion`. The scripts call the hidden `posthaste complete`. */
export function addCompletion(command: Command): void {
  command
    .addArgument(
      new Argument('<shell>', 'the shell to complete commands in').choices(['bash', 'zsh', 'fish']),
    )
    .action((shell: string) => {
      script(shell, command.parent?.name() ?? '', 'posthaste');
    })
    .addHelpText('after', `${MORE}${examplesText(['completion bash'])}`);
}
