import type { JSX } from 'preact';
import { Field } from './field.tsx';
import { localInput } from './time-text.ts';

/** Milliseconds since the epoch. `until` undefined: the time of each request. */
export type TimeWindow = { since: number; until: number | undefined };

const PRESETS = [
  ['Last hour', 3_600_000],
  ['24 hours', 86_400_000],
  ['7 days', 604_800_000],
] as const;

/** Chooses a window of acceptance times, in the time zone of the browser. */
export function WindowFields({
  window: { since, until },
  onChange,
}: {
  window: TimeWindow;
  onChange: (window: TimeWindow) => void;
}): JSX.Element {
  return (
    <div class="window-fields">
      <Field label="Accepted since">
        {(parts) => (
          <input
            {...parts}
            type="datetime-local"
            required
            value={localInput(since)}
            onChange={({ currentTarget }) => {
              const time = Date.parse(currentTarget.value);
              if (!Number.isNaN(time)) onChange({ since: time, until });
            }}
          />
        )}
      </Field>
      <Field label="Accepted before">
        {(parts) => (
          <input
            {...parts}
            type="datetime-local"
            value={until === undefined ? '' : localInput(until)}
            onChange={({ currentTarget }) => {
              const time = Date.parse(currentTarget.value);
              onChange({ since, until: Number.isNaN(time) ? undefined : time });
            }}
          />
        )}
      </Field>
      <div class="actions">
        {PRESETS.map(([text, length]) => (
          <button
            key={text}
            type="button"
            class="button button-small"
            onClick={() => {
              onChange({ since: Date.now() - length, until: undefined });
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}
