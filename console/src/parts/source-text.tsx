import { useState } from 'preact/hooks';
import { CopyButton, SmallButton } from './form.tsx';
import { useConsole } from '../live/console-context.tsx';

/** Characters shown at first, so that a page with a payload of 1 MiB stays fast. */
const FIRST = 8_000;

/** Text shown verbatim, never as markup; a long text in full on demand. */
export function SourceText({ text, what }: { text: string; what: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = text.length > FIRST && !whole;
  return (
    <div class={isCut ? 'source' : 'source source-whole'}>
      <div class="source-bar">
        <span class="muted">
          {isCut
            ? `The first ${FIRST.toLocaleString('en')} of ${text.length.toLocaleString('en')} characters`
            : ''}
        </span>
        <span class="actions">
          {isCut ? <SmallButton onClick={() => setWhole(true)}>Show all</SmallButton> : null}
          <CopyButton text={text} what={what} />
        </span>
      </div>
      <pre tabIndex={0} role="region" aria-label={what}>
        {isCut ? `${text.slice(0, FIRST)}…` : text}
      </pre>
    </div>
  );
}

/** A command to copy, as this user runs it. `args`: what follows its name. */
export function CommandText({ args }: { args: string }) {
  const { info } = useConsole();
  const command = `${info?.command ?? 'posthaste'} ${args}`;
  return (
    <p class="command">
      <code>{command}</code> <CopyButton text={command} what="the command" />
    </p>
  );
}
