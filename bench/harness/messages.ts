import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { randomUUID } from 'node:crypto';

/** Bytes of a message's data. */
export const DATA_BYTES = 1_000;

/** An order as a shop might tell of it. */
const order = (bytes: number): object => {
  const line = (number: number) => ({
    sku: `SKU-${number}`,
    name: 'Ordinary thing',
    quantity: 2,
    price: 1995,
  });
  const bare = {
    orderId: randomUUID(),
    customer: { id: 4711, name: 'Erika Mustermann', country: 'DE' },
    lines: Array.from({ length: 8 }, (_, index) => line(1000 + index)),
    total: 31920,
    note: '',
  };
  return { ...bare, note: 'x'.repeat(bytes - JSON.stringify(bare).length) };
};

/** Bodies of the ingress queue. `dataBytes`: at least 1,000. */
export const ingressMessages = (queue: string, count: number, dataBytes = DATA_BYTES): string[] =>
  Array.from({ length: count }, () =>
    JSON.stringify({ queue, id: randomUUID(), type: 'order.created', data: order(dataBytes) }),
  );

/**
 * How many deliveries jobs order, as the delivery queue carries them: one may be for several.
 * @throws TypeError for what is no job
 */
export const orderedIn = (bodies: readonly string[]): number =>
  bodies.map(deliveriesIn).reduce((sum, count) => sum + count, 0);

const deliveriesIn = (body: string): number => {
  const parsed = parseWork(body);
  if (!parsed.ok) throw new TypeError(`A job cannot be read: ${parsed.reason}`);
  return parsed.value.kind === 'chunk' ? parsed.value.subscriptionIds.length : 1;
};
