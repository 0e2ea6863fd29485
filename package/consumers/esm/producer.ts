import { Publisher } from 'posthaste/client';

type Events = { 'order.created': { total: number } };

/** @param queueUrl the stack output `IngressQueueUrl` */
export async function publishOrder(queueUrl: string, total: number): Promise<void> {
  const publisher = new Publisher<Events>({ queueUrl });
  await publisher.publish({ queue: 'orders', type: 'order.created', data: { total } });
}
