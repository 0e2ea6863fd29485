import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { hrefTo, type Query, type Route } from '../route.ts';
import { Field } from './fields.tsx';
import { SmallButton } from './form.tsx';
import { localInput } from './time-text.ts';

/** Milliseconds since the epoch. `until` undefined: the time of each request. */
export type TimeWindow = { since: number; until: number | undefined };

/** The window in the address of a page, by default the last 24 hours. */
export function windowIn({ since, until }: Query, lengthMs = DAY_MS): TimeWindow {
  const [from, to] = [Date.parse(since ?? ''), Date.parse(until ?? '')];
  return {
    since: Number.isNaN(from) ? Date.now() - lengthMs : from,
    until: Number.isNaN(to) ? undefined : to,
  };
}

/** A window as a query of the API, and of an address. */
export function windowQuery({ since, until }: TimeWindow) {
  return { since: timeText(since), until: until === undefined ? undefined : timeText(until) };
}

/** The window in the address of a page, and its setter, which replaces the address. `lengthMs`: by default. */
export function useWindow(route: Extract<Route, { query: Query }>, lengthMs?: number) {
  const { since, until } = route.query;
  // Not at each render: the default counts from now.
  const window = useMemo(() => windowIn({ since, until }, lengthMs), [since, until, lengthMs]);
  const change = (next: TimeWindow): void => {
    location.replace(hrefTo({ ...route, query: { ...route.query, ...windowQuery(next) } }));
  };
  return [window, change] as const;
}

/** Deliveries are recovered by acceptance, which is earlier than their first failure. */
const BEFORE_FAILURE_MS = 60_000;

/** From when on deliveries to a failing or disabled subscription are to be recovered; undefined for others. */
export function beginOfFailure({
  failing,
  disabled,
}: Pick<SubscriptionView, 'failing' | 'disabled'>): number | undefined {
  const failedAt = failing?.since ?? disabled?.at;
  return failedAt === undefined ? undefined : Date.parse(failedAt) - BEFORE_FAILURE_MS;
}

const PRESETS = [
  ['1 hour', 3_600_000],
  ['24 hours', DAY_MS],
  ['7 days', 7 * DAY_MS],
] as const;

type WindowFieldsProps = {
  window: TimeWindow;
  onChange: (window: TimeWindow) => void;
  /** Further fields. */
  children?: ComponentChildren;
};

/** Chooses a window of acceptance times, in the time zone of the browser. */
export function WindowFields({ window: { since, until }, onChange, children }: WindowFieldsProps) {
  return (
    <div class="window-fields">
      <TimeField
        label="Accepted since"
        required
        time={since}
        onTime={(time) => {
          if (time !== undefined) onChange({ since: time, until });
        }}
      />
      <TimeField label="Accepted before" time={until} onTime={(time) => onChange({ since, until: time })} />
      {children}
      <div class="actions">
        {PRESETS.map(([text, length]) => (
          <SmallButton key={text} onClick={() => onChange({ since: Date.now() - length, until: undefined })}>
            {text}
          </SmallButton>
        ))}
      </div>
    </div>
  );
}

/** A year that is being typed begins with zeros. */
const EARLIEST = '1970-01-01T00:00';

type TimeFieldProps = {
  label: string;
  required?: boolean;
  time: number | undefined;
  onTime: (time: number | undefined) => void;
};

/** A labelled time in the time zone of the browser, to the minute. Milliseconds since the epoch. */
export function TimeField({ label, required = false, time, onTime }: TimeFieldProps) {
  const [typed, setTyped] = useState<string>();
  return (
    <Field label={label}>
      {(parts) => (
        <input
          {...parts}
          type="datetime-local"
          required={required}
          value={typed ?? (time === undefined ? '' : localInput(time))}
          onChange={({ currentTarget: { value } }) => {
            const isUnfinished = value !== '' && value < EARLIEST;
            setTyped(isUnfinished ? value : undefined);
            if (!isUnfinished) onTime(value === '' ? undefined : Date.parse(value));
          }}
        />
      )}
    </Field>
  );
}
