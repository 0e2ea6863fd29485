import type { JSX } from 'preact';
import { Field } from './field.tsx';

/** The data of a message as somebody types it. `fault`: what is wrong with it. */
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

/** JSON as somebody types it: as it is if it can be read, else what is wrong with it. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return `is not JSON: ${error.message}`;
    throw error;
  }
}
