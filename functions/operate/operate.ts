import type { Operation } from '../../shared/domain/recovery/operation.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import type { DeadLetters } from '../../shared/ports/queues.ts';
import { parseOperation } from '../../shared/wire/jobs/operation.ts';
import { cancelDeliveries } from './cancel-deliveries.ts';
import type { OperateContext, OperationRun } from './context.ts';
import { endPause } from './end-pause.ts';
import { moveDeliveriesUp } from './move-deliveries-up.ts';
import { restoreQueue } from './restore-queue.ts';
import { recoverDeliveries } from './recover-deliveries.ts';
import type { SQSRecord } from 'aws-lambda';

export type OperateRecordContext = OperateContext & { ports: { deadLetters: DeadLetters } };

/**
 * Handles one SQS record. Dead-letters a record that cannot be parsed, because a retry cannot help.
 * @throws if an AWS service fails: SQS redelivers the record
 */
export async function operateRecord(
  context: OperateRecordContext,
  { messageId: id, body }: SQSRecord,
  invocation: InvocationContext,
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

/** The operation's kind and queue for the log. Empty if the record cannot be parsed. */
export function operationIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseOperation(body);
  if (!parsed.ok) return {};
  const { kind, queue } = parsed.value;
  return { operation: kind, queue };
}

/**
 * Carries out one operation within the invocation's time; a new message continues the rest. Idempotent.
 * @throws if a service fails: SQS redelivers the message
 */
export function operate(
  context: OperateContext,
  operation: Operation,
  remaining: OperationRun['remaining'],
): Promise<void> {
  const run = { ...context, remaining };
  switch (operation.kind) {
    case 'recovery':
      return recoverDeliveries(run, operation);
    case 'cancellation':
      return cancelDeliveries(run, operation);
    case 'moving_up':
      return moveDeliveriesUp(run, operation);
    case 'restoration':
      return restoreQueue(run, operation);
    case 'pause':
      return endPause(run, operation);
  }
}
