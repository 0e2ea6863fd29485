import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import { InputField } from '../../parts/fields.tsx';
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
        <InputField
          key={name}
          label={label}
          value={filter[name]}
          onValue={(text) => {
            setFilter({ ...filter, [name]: text.trim() });
          }}
        />
      ))}
      <div class="actions">
        <button type="submit" class="button">
          Filter
        </button>
      </div>
    </form>
  );
}
