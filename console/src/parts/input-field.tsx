import type { ComponentChildren, JSX } from 'preact';
import { Field } from './field.tsx';

/** A labelled line of text, or `rows` lines of it. */
export function InputField({
  label,
  hint,
  fault,
  rows,
  code = false,
  value,
  onValue,
  ...input
}: {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  rows?: number;
  /** Shown in a monospaced font. */
  code?: boolean;
  value: string;
  onValue: (value: string) => void;
  placeholder?: string;
  required?: boolean;
  inputMode?: 'decimal' | 'url';
}): JSX.Element {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(parts) => {
        const shared = {
          ...parts,
          ...input,
          class: code ? 'code' : '',
          value,
          autocomplete: 'off',
          spellcheck: false,
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
            onValue(currentTarget.value);
          },
        };
        return rows === undefined ? <input {...shared} /> : <textarea {...shared} rows={rows} />;
      }}
    </Field>
  );
}
