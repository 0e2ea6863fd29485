import { getEventType, listEventTypes } from '../../../../api-client/operations.ts';
import type { EventTypeView } from '../../../../shared/wire/views/event-type.ts';
import { useLiveCall, useLiveItems } from '../../live/use-live.ts';
import { TypeDescription, TypeName } from '../../parts/event-type.tsx';
import { Facts, Moment } from '../../parts/facts.tsx';
import { Empty, Loaded } from '../../parts/loaded.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { CommandText } from '../../parts/source-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { hrefTo } from '../../route.ts';

/** The catalogue, which the command and the API change. */
export function EventTypesPage() {
  const catalogue = useLiveItems(listEventTypes, { query: { detailed: false } }, { once: true });
  return (
    <>
      <PageHeading title="Event types" />
      <div class="section">
        <Loaded live={catalogue} lines={8}>
          {({ items }) => (
            <Table
              caption="Event types by name"
              columns={COLUMNS}
              rows={items}
              keyOf={({ name }) => name}
              empty={
                <Empty title="No event types yet">
                  <p>Describe each in a file of a folder, and apply it:</p>
                  <CommandText args="event-types apply FOLDER" />
                </Empty>
              }
            />
          )}
        </Loaded>
      </div>
    </>
  );
}

const COLUMNS: readonly Column<EventTypeView>[] = [
  {
    head: 'Event type',
    cell: (type) => (
      <a href={hrefTo({ page: 'event-type', type: type.name })}>
        <TypeName of={type} />
      </a>
    ),
  },
  { head: 'Description', wide: true, cell: ({ description }) => description },
  { head: 'Group', cell: ({ group }) => group },
  { head: 'Queues', cell: queuesText },
];

function queuesText({ queues }: EventTypeView): string {
  if (queues === undefined) return 'all';
  return queues.length === 0 ? 'none yet' : queues.join(', ');
}

/** One type, with its schema and example. */
export function EventTypePage({ name }: { name: string }) {
  const type = useLiveCall(getEventType, { path: { type: name } }, { once: true });
  return (
    <>
      <PageHeading
        title={name}
        kind="Event type"
        crumbs={[{ text: 'Event types', href: hrefTo({ page: 'event-types' }) }]}
      />
      <div class="section stack">
        <Loaded live={type}>
          {(view) => (
            <>
              <Facts
                facts={[
                  ['Group', view.group],
                  ['Queues', queuesText(view)],
                  ['Deprecated', view.deprecated === true ? 'yes' : 'no'],
                  ['Changed', <Moment key="changed" at={view.changed_at} />],
                ]}
              />
              <TypeDescription of={view} />
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}
