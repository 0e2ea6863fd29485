import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';

/** Of a long text, so that a page with a payload of 1 MiB stays quick. Characters. */
const FIRST = 8_000;

/** Text as it is, in full on demand. It is never taken for anything but text. */
export function SourceText({ text, what }: { text: string; what: string }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const isCut = text.length > FIRST && !whole;
  return (
    <div class={isCut ? 'source' : 'source source-whole'}>
      <div class="source-bar">
        {isCut ? (
          <span class="muted">
            The first {FIRST.toLocaleString('en')} of {text.length.toLocaleString('en')} characters
          </span>
        ) : (
          <span />
        )}
        <span class="actions">
          {isCut ? (
            <button
              type="button"
              class="button button-small"
              onClick={() => {
                setWhole(true);
              }}
            >
              Show all
            </button>
          ) : null}
          <CopyButton text={text} what={what} />
        </span>
      </div>
      <pre tabIndex={0} role="region" aria-label={what}>
        {isCut ? `${text.slice(0, FIRST)}…` : text}
      </pre>
    </div>
  );
}
