import type { JSX } from 'preact';
import type { Action } from '../live/use-action.ts';
import { WorkButton } from './work-button.tsx';

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
}): JSX.Element {
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
