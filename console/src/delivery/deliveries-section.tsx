import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { deliveryQuery } from '../../../api-client/deliveries.ts';
import { listDeliveries, listDeliveriesOfSubscription } from '../../../api-client/operations.ts';
import { LISTED_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { SubscriptionDeliveryView } from '../../../shared/wire/views/delivery.ts';
import { firstWithin } from '../api/listed.ts';
import { usePage } from '../live/page-context.tsx';
import { useLive } from '../live/use-live.ts';
import { DELIVERY_COLUMNS } from '../parts/delivery-columns.tsx';
import { SelectField } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/loaded.tsx';
import { Section } from '../parts/page-heading.tsx';
import { LoadMore, Table, useMost } from '../parts/table.tsx';
import { WindowFields, windowIn } from '../parts/windows.tsx';
import { ResponseTimes } from './response-times.tsx';

type DeliveriesSectionProps = {
  queue: string;
  id: string;
  sent: number;
  aside?: ComponentChildren;
};

/** The deliveries of a subscription, by status and by the time of acceptance. `sent`: how many this page has added. */
export function DeliveriesSection({ queue, id, sent, aside }: DeliveriesSectionProps) {
  const { api } = usePage();
  const [status, setStatus] = useState('');
  const [window, setWindow] = useState(() => windowIn({}));
  const { most, showMore } = useMost();
  const deliveries = useLive(
    `deliveries/${queue}/${id}/${JSON.stringify([status, window])}`,
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
    { version: most + sent },
  );
  return (
    <Section title="Deliveries" aside={aside}>
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
            <ResponseTimes deliveries={items} />
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
