import type { Context } from 'aws-lambda';
import { Publisher } from 'posthaste/client';

interface ShopEvents {
  'payment.received': { account: string; amount: number };
  'payment.refused': { account: string; reason: string };
}

type Payment = { id: string; account: string; amount: number };

// Once for each instance. The function needs sqs:SendMessage on the queue.
const publisher = new Publisher<ShopEvents>({ queueUrl: process.env['INGRESS_QUEUE_URL'] ?? '' });

/** Publishes a webhook for each payment. */
export async function handler({ payments }: { payments: Payment[] }, context: Context): Promise<string[]> {
  const published = await publisher.publishBatch(
    payments.map(({ id, account, amount }) => ({
      queue: 'payments',
      // The same when Lambda repeats the invocation, so subscribers are not called twice.
      id: `payment-received-${id}`,
      type: 'payment.received',
      data: { account, amount },
    })),
    { signal: AbortSignal.timeout(context.getRemainingTimeInMillis() - 500) },
  );
  return published.map(({ id }) => id);
}
