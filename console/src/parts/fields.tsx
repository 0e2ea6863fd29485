import type { ComponentChildren, ComponentProps } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Faults } from '../api/failure-words.ts';

/** The text of a field for a stored value; empty for one that is no text, number or boolean. */
export function toFieldText(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** The error to show for text that is not JSON; undefined for JSON. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return `Invalid JSON: ${error.message}`;
    throw error;
  }
}

/** The value of JSON text; undefined if it is blank or not JSON. */
export function jsonIn(text: string): unknown {
  return text.trim() === '' || jsonFault(text) !== undefined ? undefined : JSON.parse(text);
}

/** Text that is not a number stays text, so that the schema or the API reports the error. Undefined if it is blank. */
export function numberIn(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** The types in a text area, one a line. */
export function eventTypesIn(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/**
 * The draft of a form, a setter for each of its fields, and the control of a field with its fault. `onChange`: called after
 * each change.
 */
export function useDraft<Draft>(initial: Draft, onChange: () => void) {
  const [draft, setDraft] = useState(initial);
  const change =
    <Name extends keyof Draft>(name: Name) =>
    (value: Draft[Name]): void => {
      setDraft({ ...draft, [name]: value });
      onChange();
    };
  const control = <Name extends keyof Draft & string>(name: Name, faults: Faults) => ({
    value: draft[name],
    fault: faults.get(name),
    onValue: change(name),
  });
  return { draft, change, control };
}

type Labelled = { label: string; hint?: ComponentChildren; fault?: string | undefined };

type FieldParts = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean };

/** A labelled control with a hint and an error. */
export function Field({
  label,
  hint,
  fault,
  children,
}: Labelled & { children: (parts: FieldParts) => ComponentChildren }) {
  const id = useId();
  const described = [fault === undefined ? '' : `${id}-fault`, hint === undefined ? '' : `${id}-hint`];
  const describedBy = described.join(' ').trim();
  return (
    <div class={fault === undefined ? 'field' : 'field field-faulty'}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': fault !== undefined,
      })}
      {fault === undefined ? null : (
        <p id={`${id}-fault`} class="field-fault">
          {fault}
        </p>
      )}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}

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
}: Labelled & {
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
}) {
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
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onValue(currentTarget.value),
        };
        if (rows !== undefined) return <textarea {...shared} rows={rows} />;
        return <input {...shared} {...(secret && { type: 'password', autocomplete: 'new-password' })} />;
      }}
    </Field>
  );
}

/** A labelled number, whose text `numberIn` reads. */
export function NumberField(props: Omit<ComponentProps<typeof InputField>, 'inputMode'>) {
  return <InputField {...props} inputMode="decimal" />;
}

type CheckFieldProps = {
  label: ComponentChildren;
  description?: string | undefined;
  checked: boolean;
  onChecked: (checked: boolean) => void;
};

/** A check box with its label beside it, and a description below that. */
export function CheckField({ label, description, checked, onChecked }: CheckFieldProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChecked(currentTarget.checked)}
      />
      <span>
        {label}
        {description === undefined ? null : <span class="sub">{description}</span>}
      </span>
    </label>
  );
}

/** A text is its own value. */
type Option = string | readonly [value: string, text: string];

type SelectProps = {
  /** Undefined: the browser keeps what is chosen. */
  value?: string;
  onValue: (value: string) => void;
  options: readonly Option[];
};

/** A labelled list of choices. */
export function SelectField({ label, hint, fault, ...select }: Labelled & SelectProps) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(parts) => <Select {...parts} {...select} />}
    </Field>
  );
}

function Select({ onValue, options, ...select }: Partial<FieldParts> & SelectProps) {
  return (
    <select {...select} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
      {options.map((option) => {
        const [choice, text] = typeof option === 'string' ? [option, option] : option;
        return (
          <option key={choice} value={choice}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

/** A list of choices in a bar. Each text says what it chooses; the label is for screen readers. */
export function BarSelect({ label, ...select }: { label: string } & SelectProps) {
  return (
    <label class="bar-select">
      <span class="unseen">{label}</span>
      <Select {...select} />
    </label>
  );
}

/** A text of a form, as its field shows and changes it. */
export type Control = { value: string; fault: string | undefined; onValue: (value: string) => void };

/**
 * The switches of back-pressure, each empty if not set, or a boolean in JSON. `unset`: what applies where they are not
 * set.
 */
export function SwitchFields({ unset, adapt, hold }: { unset: string; adapt: Control; hold: Control }) {
  const options: readonly Option[] = [
    ['', unset],
    ['false', 'no: each delivery follows its retry policy'],
    ['true', 'yes'],
  ];
  return (
    <>
      <SelectField
        {...adapt}
        label="Adapt to throttling"
        hint="A 429 is retried, and attempts wait until the subscriber takes them."
        options={options}
      />
      <SelectField
        {...hold}
        label="Hold while down"
        hint="While the subscriber is down, it gets one probe at a time. All other attempts wait."
        options={options}
      />
    </>
  );
}
