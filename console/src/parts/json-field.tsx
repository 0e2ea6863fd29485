import type { JSX } from 'preact';
import { Field } from './field.tsx';

/** A text area for the JSON data of a message. `fault`: the error to show. */
export function JsonField({
  hint,
  rows,
  fault,
  value,
  onValue,
}: {
  hint: string;
  rows: number;
  fault: string | undefined;
  value: string;
  onValue: (value: string) => void;
}): JSX.Element {
  return (
    <Field label="Data" hint={hint} fault={fault}>
      {(parts) => (
        <textarea
          {...parts}
          class="code"
          rows={rows}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => {
            onValue(currentTarget.value);
          }}
        />
      )}
    </Field>
  );
}
