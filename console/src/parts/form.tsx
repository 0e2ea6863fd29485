import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { type Action, useAction } from '../live/hooks.ts';

/** A form that starts an action: not while the action runs, and not until the form is `ready`. */
export function Form({
  action,
  ready = true,
  onSubmit,
  children,
}: {
  action: Action<unknown>;
  ready?: boolean;
  onSubmit: () => void;
  children: ComponentChildren;
}) {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && action.state !== 'running') onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** The end of a form: the button that submits it and, in a dialog, Cancel. */
export function FormActions({
  action,
  verb,
  kind = 'primary',
  onClose,
}: {
  action: Action<unknown>;
  verb: string;
  kind?: 'primary' | 'danger';
  onClose?: (() => void) | undefined;
}) {
  return (
    <div class="actions">
      <WorkButton action={action} kind={kind} submit>
        {verb}
      </WorkButton>
      {onClose === undefined ? null : (
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      )}
    </div>
  );
}

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
}) {
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

/** A small button that acts at once. */
export function SmallButton(props: Omit<ButtonHTMLAttributes, 'type' | 'class'>) {
  return <button {...props} type="button" class="button button-small" />;
}

const WORDS = { idle: 'Copy', running: 'Copy', done: 'Copied', failed: 'Copy failed' } as const;

export function CopyButton({ text, what }: { text: string; what: string }) {
  const { action, run } = useAction(() => navigator.clipboard.writeText(text));
  return (
    <SmallButton onClick={run}>
      <span aria-live="polite">{WORDS[action.state]}</span>
      <span class="unseen"> {what}</span>
    </SmallButton>
  );
}
