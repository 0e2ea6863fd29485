import { eventTypesIn, InputField, SelectField } from '../../parts/fields.tsx';
import { Notice } from '../../parts/loaded.tsx';

/** The event types of a subscription, one a line. Offers those of the catalogue, if it is readable. */
export function EventTypesField({
  catalogue = { items: [] },
  ...field
}: {
  catalogue: { items: readonly { name: string }[] } | undefined;
  value: string;
  fault: string | undefined;
  onValue: (value: string) => void;
}) {
  const names = catalogue.items.map(({ name }) => name);
  const chosen = eventTypesIn(field.value);
  const unknown = names.length === 0 ? [] : chosen.filter((name) => !names.includes(name));
  const left = names.filter((name) => !chosen.includes(name));
  return (
    <>
      <InputField
        {...field}
        label="Event types"
        hint="Optional, one a line. Only messages of these types are sent."
        rows={3}
        code
      />
      {unknown.length === 0 ? null : (
        <Notice tone="warning" title={`The catalogue does not have ${unknown.join(', ')}.`} />
      )}
      {left.length === 0 ? null : (
        <SelectField
          label="Add a type of the catalogue"
          value=""
          onValue={(name) => field.onValue([...chosen, name].join('\n'))}
          options={[['', 'choose one'], ...left]}
        />
      )}
    </>
  );
}
