import { useState } from 'preact/hooks';
import { type EventType, TypeName } from '../../../console/src/parts/event-type.tsx';
import { CheckField, eventTypesIn, InputField } from '../../../console/src/parts/fields.tsx';
import { Loaded } from '../../../console/src/parts/loaded.tsx';
import { groupTypes } from '../event-types.ts';
import { usePortal } from '../portal-context.tsx';

/** More types get a field to find one. */
const MANY = 12;

type EventPickerProps = {
  chosen: readonly string[] | undefined;
  fault: string | undefined;
  onChosen: (types: readonly string[] | undefined) => void;
};

/** Chooses events from the catalogue, or all of them. `chosen`: undefined for all. */
export function EventPicker({ chosen, fault, onChosen }: EventPickerProps) {
  const { catalogue, event_types: allowed } = usePortal();
  const { value: described = [] } = catalogue;
  const [text, setText] = useState('');
  const types = listTypes(described, chosen ?? []);
  return (
    <fieldset>
      <legend>Events</legend>
      {allowed === undefined ? (
        <CheckField
          label="All events, also those that are added later"
          checked={chosen === undefined}
          onChecked={(all) => onChosen(all ? undefined : [])}
        />
      ) : null}
      {chosen === undefined ? null : (
        <>
          {/* Without the names they can still be typed, below the reason. */}
          <Loaded live={catalogue} lines={1}>
            {() => null}
          </Loaded>
          {types.length > MANY ? <InputField label="Find an event" value={text} onValue={setText} /> : null}
          {types.length === 0 ? <NamesField chosen={chosen} onChosen={onChosen} /> : null}
          {groupTypes(types.filter((type) => isMatch(type, text))).map(([group, members]) => (
            <div key={group} class="stack" role="group" aria-label={group ?? 'Events'}>
              {group === undefined ? null : <p class="strong">{group}</p>}
              <div class="types">
                {members.map((type) => (
                  <CheckField
                    key={type.name}
                    label={<TypeName of={type} />}
                    description={type.description}
                    checked={chosen.includes(type.name)}
                    onChecked={(isChosen) => {
                      const rest = chosen.filter((name) => name !== type.name);
                      onChosen(isChosen ? [...rest, type.name] : rest);
                    }}
                  />
                ))}
              </div>
            </div>
          ))}
        </>
      )}
      {fault === undefined ? null : (
        <p class="field-fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}

/** The types of the catalogue, and those chosen that it does not have. Without a catalogue none: names are typed. */
function listTypes(catalogue: readonly EventType[], chosen: readonly string[]): readonly EventType[] {
  if (catalogue.length === 0) return [];
  const listed = new Set(catalogue.map(({ name }) => name));
  const others = chosen.filter((name) => !listed.has(name));
  return [...catalogue, ...others.map((name) => ({ name, group: 'Not in the catalogue' }))];
}

function isMatch({ name, description = '', group = '' }: EventType, text: string): boolean {
  return `${name}\n${description}\n${group}`.toLowerCase().includes(text.trim().toLowerCase());
}

/** Without a catalogue the names are typed. */
function NamesField({
  chosen,
  onChosen,
}: {
  chosen: readonly string[];
  onChosen: (types: readonly string[]) => void;
}) {
  const [text, setText] = useState(chosen.join('\n'));
  return (
    <InputField
      label="Names of events"
      hint="One a line."
      rows={4}
      code
      value={text}
      onValue={(typed) => {
        setText(typed);
        onChosen(eventTypesIn(typed));
      }}
    />
  );
}
