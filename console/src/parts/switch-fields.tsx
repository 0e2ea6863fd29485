import type { JSX } from 'preact';
import { SelectField } from './select-field.tsx';

/** `value`: empty if not set, or a boolean in JSON. */
type Switch = { value: string; fault: string | undefined; onValue: (value: string) => void };

/** The switches of back-pressure. `unset`: what applies where they are not set. */
export function SwitchFields({
  unset,
  adapt,
  hold,
}: {
  unset: string;
  adapt: Switch;
  hold: Switch;
}): JSX.Element {
  const choices = [
    ['', unset],
    ['false', 'no: each delivery follows its retry policy'],
    ['true', 'yes'],
  ].map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));
  return (
    <>
      <SelectField
        {...adapt}
        label="Adapt to throttling"
        hint="A 429 is retried, and attempts wait until the subscriber takes them."
      >
        {choices}
      </SelectField>
      <SelectField
        {...hold}
        label="Hold while down"
        hint="While the subscriber is down, it gets one probe at a time. All other attempts wait."
      >
        {choices}
      </SelectField>
    </>
  );
}
