import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** A button that opens a modal dialog. `children` gets a function that closes the dialog. */
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
}) {
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLDialogElement>(null);
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
          element={element}
          onClose={() => {
            setOpen(false);
          }}
        >
          {children(() => element.current?.close())}
        </Dialog>
      ) : null}
    </>
  );
}

/** A modal dialog. The browser's dialog element traps the focus, closes on Escape and restores the focus. */
export function Dialog({
  title,
  wide = false,
  element,
  onClose,
  children,
}: {
  title: string;
  wide?: boolean;
  /** Gets the element, so that the owner can close it. */
  element?: RefObject<HTMLDialogElement | null>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const own = useRef<HTMLDialogElement>(null);
  const dialog = element ?? own;
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, [dialog]);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
