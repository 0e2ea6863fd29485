import { useState } from 'preact/hooks';
import { listSubscriptions } from '../../../api-client/operations.ts';
import { useLiveItems } from '../../../console/src/live/use-live.ts';
import { Button } from '../../../console/src/parts/form.tsx';
import { Empty, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading } from '../../../console/src/parts/page-heading.tsx';
import { SubscriptionLink, SubscriptionState } from '../../../console/src/parts/subscription-text.tsx';
import { type Column, Table } from '../../../console/src/parts/table.tsx';
import { Waiting } from '../../../console/src/parts/waiting.tsx';
import { QueueStatistics } from '../../../console/src/statistics/statistics-charts.tsx';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { usePortal } from '../portal-context.tsx';
import { EditEndpoint } from './edit-endpoint.tsx';

export function EndpointsPage() {
  const { queue, can, limits } = usePortal();
  const endpoints = useLiveItems(listSubscriptions, { path: { queue }, most: 100 });
  const [isAdding, setIsAdding] = useState(false);
  const { value } = endpoints;
  // Not until the list has loaded.
  const hasRoom = value !== undefined && value.items.length < limits.endpoints;
  return (
    <>
      <PageHeading title="Endpoints">
        {can('manage') && !isAdding && hasRoom ? (
          <Button kind="primary" onClick={() => setIsAdding(true)}>
            Add endpoint
          </Button>
        ) : null}
      </PageHeading>
      {isAdding ? <EditEndpoint onDone={endpoints.refresh} onClose={() => setIsAdding(false)} /> : null}
      <div class="section">
        <Loaded live={endpoints}>
          {({ items }) => (
            <>
              <Table
                caption="Endpoints"
                columns={COLUMNS}
                rows={items}
                keyOf={({ id }) => id}
                rowClass={(view) => (isWell(view) ? undefined : 'row-worry')}
                empty={
                  <Empty title="No endpoints yet">
                    <p>An endpoint is a URL of yours that gets a request for each event.</p>
                  </Empty>
                }
              />
              {can('manage') ? (
                <p class="muted">
                  {items.length} of {limits.endpoints} endpoints.
                </p>
              ) : null}
            </>
          )}
        </Loaded>
      </div>
      {value === undefined || value.items.length === 0 ? null : (
        <QueueStatistics queue={queue} title="Activity" first="day" isOptional />
      )}
    </>
  );
}

function isWell({ failing, disabled, backPressure }: SubscriptionView): boolean {
  return failing === undefined && disabled === undefined && backPressure === undefined;
}

const COLUMNS: readonly Column<SubscriptionView>[] = [
  {
    head: 'Endpoint',
    wide: true,
    cell: (view) => <SubscriptionLink queue={view.source} {...view} />,
  },
  {
    head: 'State',
    cell: (view) => (
      <>
        <SubscriptionState of={view} />
        {view.paused === undefined ? null : (
          <span class="sub">
            Waiting: <Waiting of={view} />
          </span>
        )}
      </>
    ),
  },
  { head: 'Events', cell: ({ options }) => eventTypesText(options.event_types) },
];

function eventTypesText(types: readonly string[] | undefined): string {
  if (types === undefined) return 'all';
  const [first = '', ...others] = types;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
