import type { Operation } from '../../shared/domain/recovery/operation.ts';
import type { DeadLetters } from '../../shared/ports/queues.ts';
import { parseOperation } from '../../shared/wire/jobs/operation.ts';
import { cancelDeliveries } from './cancel-deliveries.ts';
import type { OperateContext, TimeLeft } from './context.ts';
import { moveLineUp } from './move-line-up.ts';
import { recoverDeliveries } from './recover-deliveries.ts';
import type { Context, SQSRecord } from 'aws-lambda';

export type OrderContext = OperateContext & { ports: { deadLetters: DeadLetters } };

/**
 * What operate does for every SQS record. A throw means that one of our own services failed, and the message comes again.
 * An order that can never be understood is dead-lettered with its reason instead of being tried fifty times.
 */
export async function operateRecord(
  context: OrderContext,
  { messageId: id, body }: SQSRecord,
  invocation: Context,
): Promise<void> {
  const { deadLetters, journal } = context.ports;
  const parsed = parseOperation(body);
  if (parsed.ok) {
    await operate(context, parsed.value, () => invocation.getRemainingTimeInMillis());
    return;
  }
  await deadLetters.send({ id, body }, parsed.reason);
  journal.note({ fact: 'dead_lettered', id, reason: parsed.reason });
}

/** What an order is for, as far as it can be read. */
export function orderIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseOperation(body);
  if (!parsed.ok) return {};
  const { kind, queue } = parsed.value;
  return { operation: kind, queue };
}

/**
 * One order, as far as the invocation's time goes; the rest goes on in a new message. It returns when its message may be
 * acknowledged, and throws when it must come again: all of it can be repeated without harm.
 */
export async function operate(
  context: OperateContext,
  operation: Operation,
  remaining: TimeLeft,
): Promise<void> {
  switch (operation.kind) {
    case 'recovery':
      await recoverDeliveries(context, operation, remaining);
      return;
    case 'cancellation':
      await cancelDeliveries(context, operation, remaining);
      return;
    case 'moving_up':
      await moveLineUp(context, operation, remaining);
      return;
  }
}
