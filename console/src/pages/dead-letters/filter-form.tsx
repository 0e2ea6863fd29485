import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RedrivenQueue } from '../../../../shared/domain/vocabulary.ts';
import { Field } from '../../parts/field.tsx';
import { hrefTo, type Query } from '../../route.ts';

const FIELDS = [
  ['reason', 'Reason'],
  ['queue', 'Queue'],
  ['subscription', 'Subscription id'],
] as const;

type Filter = Record<(typeof FIELDS)[number][0], string>;

/** The filter of a look. It is part of the address. */
export function FilterForm({ which, query }: { which: RedrivenQueue; query: Query }): JSX.Element {
  const { reason = '', queue = '', subscription = '' } = query;
  const [filter, setFilter] = useState<Filter>({ reason, queue, subscription });
  return (
    <form
      class="window-fields"
      onSubmit={(event) => {
        event.preventDefault();
        const given = Object.entries(filter).filter(([, text]) => text !== '');
        location.hash = hrefTo({ page: 'dead-letters', query: { which, ...Object.fromEntries(given) } });
      }}
    >
      {FIELDS.map(([name, label]) => (
        <Field key={name} label={label}>
          {(parts) => (
            <input
              {...parts}
              value={filter[name]}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => {
                setFilter({ ...filter, [name]: currentTarget.value.trim() });
              }}
            />
          )}
        </Field>
      ))}
      <div class="actions">
        <button type="submit" class="button">
          Filter
        </button>
      </div>
    </form>
  );
}
