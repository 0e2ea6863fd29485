import type { ComponentChildren, JSX } from 'preact';
import { Field } from './field.tsx';

/** A labelled line of text, or `rows` lines of it. */
export function InputField({
  label,
  hint,
  fault,
  rows,
  code = false,
  secret = false,
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
  /** A line is not shown while it is typed, and browsers do not fill it in. */
  secret?: boolean | undefined;
  value: string;
  onValue: (value: string) => void;
  placeholder?: string;
  maxLength?: number;
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
        if (rows !== undefined) return <textarea {...shared} rows={rows} />;
        return secret ? (
          <input {...shared} type="password" autocomplete="new-password" />
        ) : (
          <input {...shared} />
        );
      }}
    </Field>
  );
}
