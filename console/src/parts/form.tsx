import {
  type ButtonHTMLAttributes,
  type ComponentChildren,
  createContext,
  type TargetedSubmitEvent,
} from 'preact';
import { useContext } from 'preact/hooks';
import { type Action, useAction } from '../live/hooks.ts';
import { ActionFailure } from './loaded.tsx';

const Closing = createContext<(() => void) | undefined>(undefined);

/** Around what can be closed, with the function that closes it. */
export const CloseProvider = Closing.Provider;

/** Closes the dialog or the section around this part, if there is one. */
export function useClose(): () => void {
  return useContext(Closing) ?? (() => undefined);
}

/** A button that closes the dialog or the section around it. */
export function CloseButton({ kind, children }: { kind?: ButtonKind; children: string }) {
  return (
    <Button kind={kind} onClick={useClose()}>
      {children}
    </Button>
  );
}

/**
 * A form that starts an action: not while the action runs, and not until the form is `ready`. It ends with the failure
 * of the action, the button that submits it and, where it can be closed, Cancel.
 */
export function Form({
  action,
  ready = true,
  verb,
  kind = 'primary',
  isMarked = false,
  onSubmit,
  children,
  result,
}: {
  action: Action<unknown>;
  ready?: boolean;
  verb: string;
  kind?: ButtonKind;
  /** The fields show the failure. */
  isMarked?: boolean;
  onSubmit: () => void;
  children: ComponentChildren;
  /** Shown below the buttons. */
  result?: ComponentChildren;
}) {
  const canBeClosed = useContext(Closing) !== undefined;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && action.state !== 'running') onSubmit();
      }}
    >
      {children}
      {isMarked ? null : <ActionFailure of={action} />}
      <div class="actions">
        <WorkButton action={action} kind={kind} type="submit">
          {verb}
        </WorkButton>
        {canBeClosed ? <CloseButton>Cancel</CloseButton> : null}
      </div>
      {result}
    </form>
  );
}

type ButtonKind = 'plain' | 'primary' | 'danger';

type ButtonProps = Omit<ButtonHTMLAttributes, 'class'> & { kind?: ButtonKind | undefined };

export function Button({ kind = 'plain', ...props }: ButtonProps) {
  return <button type="button" {...props} class={`button button-${kind}`} />;
}

/** The texts of a submitted form by the names of its controls, trimmed; blank ones are left out. */
export function submittedTexts(event: TargetedSubmitEvent<HTMLFormElement>): Partial<Record<string, string>> {
  event.preventDefault();
  const texts = [...new FormData(event.currentTarget)].flatMap(([name, text]) =>
    typeof text === 'string' && text.trim() !== '' ? [[name, text.trim()] as const] : [],
  );
  return Object.fromEntries(texts);
}

/**
 * A button that starts an action. It ignores clicks while the action runs, and the second one of a double click: by then
 * the action may have ended, and another button may be in this place.
 */
export function WorkButton({
  action,
  onClick,
  ...props
}: Omit<ButtonProps, 'onClick'> & { action: Action<unknown>; onClick?: () => void }) {
  const running = action.state === 'running';
  return (
    <Button
      {...props}
      aria-disabled={running}
      aria-busy={running}
      onClick={(event) => {
        if (running || event.detail > 1) event.preventDefault();
        else onClick?.();
      }}
    />
  );
}

/** A button that does its work at once, with the failure of the work below it. */
export function ActionButton({ work, ...props }: ButtonProps & { work: () => Promise<void> }) {
  const { action, run } = useAction(work);
  return (
    <>
      <WorkButton {...props} action={action} onClick={run} />
      <ActionFailure of={action} />
    </>
  );
}

/** A small button that acts at once. */
export function SmallButton(props: Omit<ButtonProps, 'kind'>) {
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
