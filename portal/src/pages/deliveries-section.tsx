import { useState } from 'preact/hooks';
import { deliveryQuery } from '../../../api-client/deliveries.ts';
import { listDeliveries, listDeliveriesOfSubscription } from '../../../api-client/operations.ts';
import { LISTED_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { SubscriptionDeliveryView } from '../../../shared/wire/views/delivery.ts';
import { firstWithin } from '../../../console/src/api/listed.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLive } from '../../../console/src/live/use-live.ts';
import { DELIVERY_COLUMNS } from '../../../console/src/parts/delivery-columns.tsx';
import { SelectField } from '../../../console/src/parts/fields.tsx';
import { Empty, Loaded } from '../../../console/src/parts/loaded.tsx';
import { Section } from '../../../console/src/parts/page-heading.tsx';
import { LoadMore, Table, useMost } from '../../../console/src/parts/table.tsx';
import { WindowFields, windowIn } from '../../../console/src/parts/windows.tsx';
import { usePortal } from '../portal-context.tsx';

/** The deliveries of an endpoint, by status and by the time of acceptance. */
export function DeliveriesSection({ id, refreshes }: { id: string; refreshes: number }) {
  const { api } = usePage();
  const { queue } = usePortal();
  const [status, setStatus] = useState('');
  const [window, setWindow] = useState(() => windowIn({}));
  const { most, showMore } = useMost();
  const deliveries = useLive(
    `deliveries/${id}/${JSON.stringify([status, window, most, refreshes])}`,
    (signal) =>
      firstWithin(
        (inTime): AsyncIterable<SubscriptionDeliveryView> => {
          const asked = { most: most + 1, signal: inTime };
          if (status !== '') {
            const query = deliveryQuery({ ...window, status, subscription: id });
            return api.list(listDeliveries, { path: { queue }, query, ...asked });
          }
          // Delivered ones as well.
          const path = { queue, subscription: id };
          return api.list(listDeliveriesOfSubscription, { path, query: deliveryQuery(window), ...asked });
        },
        most,
        { signal },
      ),
  );
  return (
    <Section title="Deliveries">
      <WindowFields window={window} onChange={setWindow}>
        <SelectField
          label="Status"
          value={status}
          onValue={setStatus}
          options={[['', 'all'], ...LISTED_STATUSES]}
        />
      </WindowFields>
      <Loaded live={deliveries} lines={8}>
        {({ items, more }) => (
          <>
            <Table
              caption="Deliveries, newest message first"
              columns={DELIVERY_COLUMNS}
              rows={items}
              keyOf={({ messageId }) => messageId}
              empty={<Empty title={more ? 'None among the newest messages' : 'No matching deliveries'} />}
            />
            <LoadMore what="deliveries" more={more} onMore={showMore} />
          </>
        )}
      </Loaded>
    </Section>
  );
}
