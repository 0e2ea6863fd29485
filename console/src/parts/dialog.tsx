import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/**
 * A button that opens a modal dialog. The browser's dialog element traps the focus, closes on Escape and restores the
 * focus. `children` gets a function that closes the dialog.
 */
export function DialogButton({
  text,
  title = text,
  kind = 'plain',
  wide = false,
  children,
}: {
  text: string;
  title?: string;
  kind?: 'plain' | 'primary' | 'danger';
  /** For a dialog with a long form. */
  wide?: boolean;
  children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class={`button button-${kind}`}
        onClick={() => {
          setOpen(true);
        }}
      >
        {text}
      </button>
      {open ? (
        <Dialog
          title={title}
          wide={wide}
          onClose={() => {
            setOpen(false);
          }}
        >
          {children}
        </Dialog>
      ) : null}
    </>
  );
}

function Dialog({
  title,
  wide,
  onClose,
  children,
}: {
  title: string;
  wide: boolean;
  onClose: () => void;
  children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  );
}
