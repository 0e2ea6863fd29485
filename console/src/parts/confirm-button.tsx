import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../live/use-action.ts';
import { DialogButton } from './dialog.tsx';
import { Form, FormActions } from './form.tsx';
import { InputField } from './fields.tsx';
import { ActionFailure } from './notice.tsx';

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
      {(close) => <ConfirmForm {...question} onClose={close} />}
    </DialogButton>
  );
}

function ConfirmForm({ children, verb, typed, work, onClose }: Question & { onClose: () => void }) {
  const [name, setName] = useState('');
  const [fault, setFault] = useState<string>();
  const { action, run } = useAction(async () => {
    await work();
    onClose();
  });
  return (
    <Form
      action={action}
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
      <ActionFailure of={action} />
      <FormActions action={action} verb={verb} kind="danger" onClose={onClose} />
    </Form>
  );
}
