import type { ComponentChildren, JSX } from 'preact';
import { Field } from './field.tsx';

/** A labelled list of choices. `children`: its options. */
export function SelectField({
  label,
  hint,
  fault,
  value,
  onValue,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  /** Undefined: the browser keeps what is chosen. */
  value?: string;
  onValue: (value: string) => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(parts) => (
        <select
          {...parts}
          {...(value !== undefined && { value })}
          onChange={({ currentTarget }) => {
            onValue(currentTarget.value);
          }}
        >
          {children}
        </select>
      )}
    </Field>
  );
}
