import { shellWord } from '../../../local/command-name.ts';
import { isPackaged, programFile } from '../../../local/install/paths.mjs';
import { argument } from '../../options/arguments.ts';
import { standalone } from '../../options/deployed.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/**
 * The script that completes `posthaste` in a shell by `program`, given as words of that shell. The words of the line are
 * passed on as they stand, one argument each: no shell evaluates what it completes.
 */
export function completionScript(shell: Shell, program: string): string {
  const complete = `${program} complete --`;
  switch (shell) {
    case 'bash':
      return `# bash completion for posthaste
_posthaste() {
  local current=\${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    [[ -n $line && $line != :* && $line == "$current"* ]] && COMPREPLY+=("$line")
  done < <(${complete} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _posthaste posthaste
`;
    case 'zsh':
      return `#compdef posthaste
# zsh completion for posthaste
_posthaste() {
  local line value
  local -a found
  while IFS= read -r line; do
    [[ -z $line || $line == :* ]] && continue
    value=\${line%%$'\\t'*}
    found+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
  done < <(${complete} "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe posthaste found || _files
}
compdef _posthaste posthaste
`;
    case 'fish':
      return `# fish completion for posthaste
function __posthaste_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    ${complete} $words[2..-1] "$current" 2>/dev/null | string match -rv '^(:\\d+)?$'
end
complete -c posthaste -e
complete -c posthaste -a '(__posthaste_complete)'
`;
  }
}

const ON_PATH = isPackaged ? 'npm install --global posthaste' : 'npm link in the checkout';

/** `posthaste completion`. The scripts call the hidden `posthaste complete` by its file, as an alias would not work. */
export const completion = standalone({
  arguments: [argument('<shell>', 'the shell to complete commands in').choices(SHELLS)],
  more: `
Completes the word posthaste. Put the command on your path:
  ${ON_PATH}
Then add to
  ~/.bashrc                   source <(posthaste completion bash)
  ~/.zshrc                    source <(posthaste completion zsh)
  ~/.config/fish/config.fish  posthaste completion fish | source
`,
  examples: ['completion bash'],
  run: ({ terminal }, shell: Shell) => {
    const program = [process.execPath, programFile('cli/posthaste.mjs')].map(shellWord).join(' ');
    terminal.stdout.write(completionScript(shell, program));
    return undefined;
  },
});
