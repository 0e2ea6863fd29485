import { useEffect, useRef, useState } from 'preact/hooks';
import type { Route } from '../../route.ts';
import { SearchResults } from './search-results.tsx';

/** The search in the masthead. `/` focuses it; Enter searches; arrows choose a result; Escape closes the results. */
export function SearchBox({ route }: { route: Route }) {
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [sought, setSought] = useState<string>();
  const close = (): void => {
    setSought(undefined);
  };
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping()) return;
      event.preventDefault();
      input.current?.select();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    addEventListener('hashchange', close);
    return () => {
      document.removeEventListener('keydown', focus);
      removeEventListener('hashchange', close);
    };
  }, []);

  return (
    <div
      ref={box}
      class="search"
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && box.current?.contains(relatedTarget) === false) close();
      }}
      onKeyDown={(event) => {
        const by = STEPS[event.key];
        if (event.key === 'Escape') {
          close();
          input.current?.focus();
        } else if (by !== undefined && sought !== undefined) {
          event.preventDefault();
          moveFocus(box.current, by);
        }
      }}
    >
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setSought(text.trim() === '' ? undefined : text.trim());
        }}
      >
        <label>
          <span class="unseen">Search</span>
          <input
            ref={input}
            value={text}
            maxLength={512}
            enterkeyhint="search"
            placeholder="Search ( / )"
            title="A message id, the id, name or URL of a subscription, a queue, or a time such as 14:03"
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
            }}
          />
        </label>
      </form>
      {sought === undefined ? null : (
        <SearchResults
          key={sought}
          text={sought}
          queue={'queue' in route ? route.queue : undefined}
          onClose={() => {
            close();
            input.current?.focus();
          }}
        />
      )}
    </div>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** Whether `/` belongs to a field or an open dialog. */
function isTyping(): boolean {
  const { activeElement } = document;
  return (
    activeElement?.matches('input, textarea, select, [contenteditable]') === true ||
    document.querySelector('dialog[open]') !== null
  );
}

/** Moves between the input and the links of the results, without leaving them. */
function moveFocus(box: HTMLElement | null, by: number): void {
  const all = [...(box?.querySelectorAll<HTMLElement>('input, .search-results a') ?? [])];
  const at = all.findIndex((one) => one === document.activeElement);
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}
