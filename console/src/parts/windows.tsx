import type { ComponentChildren } from 'preact';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import type { Query } from '../route.ts';
import { Field } from './fields.tsx';
import { SmallButton } from './form.tsx';
import { localInput } from './time-text.ts';
import { Moment } from './facts.tsx';

/** Milliseconds since the epoch. `until` undefined: the time of each request. */
export type TimeWindow = { since: number; until: number | undefined };

/** The window in the address of a page, by default the last 24 hours. */
export function windowIn({ since, until }: Query): TimeWindow {
  const [from, to] = [Date.parse(since ?? ''), Date.parse(until ?? '')];
  return { since: Number.isNaN(from) ? Date.now() - DAY_MS : from, until: Number.isNaN(to) ? undefined : to };
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

/** Chooses a window of acceptance times, in the time zone of the browser. */
export function WindowFields({
  window: { since, until },
  onChange,
  children,
}: {
  window: TimeWindow;
  onChange: (window: TimeWindow) => void;
  /** Further fields. */
  children?: ComponentChildren;
}) {
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

/** A labelled time in the time zone of the browser, to the minute. Milliseconds since the epoch. */
export function TimeField({
  label,
  required = false,
  time,
  onTime,
}: {
  label: string;
  required?: boolean;
  time: number | undefined;
  onTime: (time: number | undefined) => void;
}) {
  return (
    <Field label={label}>
      {(parts) => (
        <input
          {...parts}
          type="datetime-local"
          required={required}
          value={time === undefined ? '' : localInput(time)}
          onChange={({ currentTarget }) => {
            const chosen = Date.parse(currentTarget.value);
            onTime(Number.isNaN(chosen) ? undefined : chosen);
          }}
        />
      )}
    </Field>
  );
}

/** Describes the window of acceptance times; `otherwise` is shown without one. */
export function WindowText({
  since,
  until,
  otherwise = 'Accepted in the last 24 hours.',
}: {
  since: string | undefined;
  until: string | undefined;
  otherwise?: string;
}) {
  if (since === undefined && until === undefined) return <p class="muted">{otherwise}</p>;
  return (
    <p class="muted">
      Accepted
      <End word="since" at={since} />
      <End word="before" at={until} />.
    </p>
  );
}

function End({ word, at }: { word: string; at: string | undefined }) {
  return at === undefined ? null : (
    <>
      {' '}
      {word} <Moment at={at} />
    </>
  );
}
