import { useId, useState } from 'preact/hooks';
import { Field, InputField } from '../../parts/fields.tsx';
import { SmallButton } from '../../parts/form.tsx';
import { Notice } from '../../parts/loaded.tsx';
import { eventTypesIn } from './subscription-draft.ts';

/** The event types of a subscription, one a line. `names`: those of the catalogue, which it offers; empty without one. */
export function EventTypesField({
  names,
  value,
  fault,
  onValue,
}: {
  names: readonly string[];
  value: string;
  fault: string | undefined;
  onValue: (value: string) => void;
}) {
  const [typed, setTyped] = useState('');
  const offered = useId();
  const chosen = eventTypesIn(value);
  const unknown = names.length === 0 ? [] : chosen.filter((name) => !names.includes(name));
  const add = (): void => {
    onValue([...new Set([...chosen, ...eventTypesIn(typed)])].join('\n'));
    setTyped('');
  };
  return (
    <>
      <InputField
        label="Event types"
        hint="Optional, one a line. Only messages of these types are sent."
        rows={3}
        code
        value={value}
        fault={fault}
        onValue={onValue}
      />
      {unknown.length === 0 ? null : (
        <Notice tone="warning" title={`The catalogue does not have ${unknown.join(', ')}.`} />
      )}
      {names.length === 0 ? null : (
        <Field label="Add a type of the catalogue">
          {(parts) => (
            <>
              <input
                {...parts}
                list={offered}
                value={typed}
                autocomplete="off"
                spellcheck={false}
                onInput={({ currentTarget }) => {
                  setTyped(currentTarget.value);
                }}
                onKeyDown={(event) => {
                  if (event.key !== 'Enter' || typed === '') return;
                  // It would send the form.
                  event.preventDefault();
                  add();
                }}
              />
              <datalist id={offered}>
                {names.map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
              <div class="actions">
                <SmallButton onClick={add}>Add the type</SmallButton>
              </div>
            </>
          )}
        </Field>
      )}
    </>
  );
}
