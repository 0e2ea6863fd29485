import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useAction } from '../live/hooks.ts';
import { InputField } from './fields.tsx';
import { Button, CloseProvider, Form, useClose } from './form.tsx';

type Opener = {
  text: string;
  /** For screen readers: what the button is for, where several have the same text. */
  what?: string;
  title?: string;
  kind?: 'plain' | 'primary' | 'danger';
  /** For a dialog with a long form. */
  wide?: boolean;
  onClose?: () => void;
  children: ComponentChildren;
};

/** A button that opens a modal dialog. */
export function DialogButton({ text, what, title = text, kind, wide = false, onClose, children }: Opener) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} onClick={() => setOpen(true)}>
        {text}
        {what === undefined ? null : <span class="unseen"> {what}</span>}
      </Button>
      {open ? (
        <Dialog
          title={title}
          wide={wide}
          onClose={() => {
            setOpen(false);
            onClose?.();
          }}
        >
          {children}
        </Dialog>
      ) : null}
    </>
  );
}

type DialogProps = {
  title: string;
  wide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
};

/** A modal dialog. The browser's dialog element traps the focus, closes on Escape and restores the focus. */
export function Dialog({ title, wide = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
    >
      <h2 id={id}>{title}</h2>
      <CloseProvider value={() => dialog.current?.close()}>{children}</CloseProvider>
    </dialog>
  );
}

type Question = {
  /** What the work does to what the reader sees now. */
  children: ComponentChildren;
  /** The label of the button that starts the work. */
  verb: string;
  /** A name that the user has to type first. */
  typed?: string | undefined;
  work: () => Promise<void>;
};

/** A button that asks in a dialog before it starts work that cannot be undone, or that stops deliveries. */
export function ConfirmButton({
  text,
  kind = 'danger',
  ...question
}: Question & { text: string; kind?: 'plain' | 'danger' }) {
  return (
    <DialogButton text={text} kind={kind}>
      <ConfirmForm {...question} />
    </DialogButton>
  );
}

function ConfirmForm({ children, verb, typed, work }: Question) {
  const close = useClose();
  const [name, setName] = useState('');
  const [fault, setFault] = useState<string>();
  const { action, run } = useAction(async () => {
    await work();
    close();
  });
  return (
    <Form
      action={action}
      verb={verb}
      kind="danger"
      onSubmit={() => {
        if (typed !== undefined && name !== typed) setFault(`This is not ${typed}.`);
        else run();
      }}
    >
      {children}
      {typed === undefined ? null : (
        <InputField
          label={`Type ${typed} to confirm`}
          fault={fault}
          value={name}
          onValue={(text) => {
            setName(text);
            setFault(undefined);
          }}
        />
      )}
    </Form>
  );
}
