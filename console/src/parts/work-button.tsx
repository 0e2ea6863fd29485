import type { ComponentChildren, JSX } from 'preact';
import type { Action } from '../live/use-action.ts';

/** A button that starts an action. While the action runs it is busy and ignores clicks. */
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
