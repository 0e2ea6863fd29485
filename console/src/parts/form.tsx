import type { ComponentChildren } from 'preact';
import type { Action } from '../live/use-action.ts';
import { WorkButton } from './buttons.tsx';

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
