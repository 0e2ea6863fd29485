import type { ComponentChildren, JSX } from 'preact';
import type { Action } from '../live/use-action.ts';

/** Begins some work, and shows that it goes on; pressed meanwhile it does nothing. */
export function WorkButton({
  action,
  onClick,
  kind = 'plain',
  submit = false,
  children,
}: {
  action: Action<unknown>;
  onClick?: () => void;
  kind?: 'plain' | 'primary' | 'danger';
  submit?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const running = action.state === 'running';
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={`button button-${kind}`}
      aria-disabled={running}
      aria-busy={running}
      onClick={(event) => {
        if (running) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
