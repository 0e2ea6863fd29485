import { Publisher } from 'posthaste/client';
import { PortalLinks } from 'posthaste/portal';
// As posthaste event-types types writes it.
import type { EventTypes } from './event-types.js';

/** @param queueUrl the stack output `IngressQueueUrl` */
export async function publishOrder(queueUrl: string, total: number): Promise<void> {
  const publisher = new Publisher<EventTypes>({ queueUrl });
  const queue = 'orders';
  await publisher.publishBatch([
    {
      queue,
      type: 'order.created',
      data: { total, currency: 'EUR', items: [{ sku: 'a', 'unit-price': 1 }] },
    },
    { queue, type: 'order.noted', data: 'any' },
    // @ts-expect-error: a required property is missing
    { queue, type: 'order.created', data: { total, currency: 'EUR' } },
    // @ts-expect-error: a property that the schema does not allow
    { queue, type: 'order.created', data: { total, currency: 'EUR', items: [], totl: 1 } },
    // @ts-expect-error: a type that is not in the catalogue
    { queue, type: 'order.creatd', data: null },
  ]);
}

export async function linkToPortal(apiUrl: string): Promise<string> {
  return (await new PortalLinks({ apiUrl }).create('orders', { capabilities: ['manage'] })).url;
}
