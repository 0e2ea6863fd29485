import type { JSX } from 'preact';
import { useConsole } from '../live/console-context.tsx';
import { CopyButton } from './copy-button.tsx';

/** A command to copy, as this user runs it. `args`: what follows its name. */
export function CommandText({ args }: { args: string }): JSX.Element {
  const { info } = useConsole();
  const command = `${info?.command ?? 'posthaste'} ${args}`;
  return (
    <p class="command">
      <code>{command}</code> <CopyButton text={command} what="the command" />
    </p>
  );
}
