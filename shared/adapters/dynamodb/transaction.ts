import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import type { DocumentClient } from '../aws/document-client.ts';
import * as z from 'zod';
import { absent, isRefusal, type AwsServiceError } from '../aws/answer.ts';
import { itemSchema } from '../aws/document-values.ts';
import { hasTimeAfter, type Pacing } from '../lambda/invocation-deadline.ts';

const cancellationSchema = z.object({
  CancellationReasons: absent(
    z.array(z.object({ Code: absent(z.string()), Item: absent(itemSchema) })),
  ).transform((reasons = []) => reasons),
});

/** For every write of the transaction in order: whether its condition failed, and the item that it failed on, if asked for. */
export type RefusedWrite = { failed: boolean; item: unknown };

export type TransactionResult =
  { kind: 'written' } | { kind: 'refused'; writes: readonly RefusedWrite[]; error: Error };

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 25;

/** Of an item in a cancelled transaction: it had another one just now, or was throttled. The SDK repeats neither. */
const PASSING: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/**
 * Writes all or nothing. Where an item could not be had just now, it is tried anew after a pause, eight times in all and as
 * long as there is time. Errors pass through, but for a condition that did not hold.
 */
export async function transacted(
  client: DocumentClient,
  { sleep, deadline }: Pacing,
  writes: NonNullable<TransactWriteCommandInput['TransactItems']>,
): Promise<TransactionResult> {
  for (let tried = 1; ; tried += 1) {
    try {
      await client.transactWrite({ TransactItems: writes });
      return { kind: 'written' };
    } catch (error) {
      if (!isRefusal(error, 'TransactionCanceledException')) throw error;
      const { writes, passes } = cancellationOf(error);
      if (writes.some(({ failed }) => failed)) return { kind: 'refused', writes, error };
      const pauseMs = Math.random() * FIRST_PAUSE_MS * 2 ** tried;
      if (!passes || tried === MAX_TRIES || !hasTimeAfter(pauseMs, deadline)) throw error;
      await sleep(pauseMs);
    }
  }
}

function cancellationOf(error: AwsServiceError): { writes: RefusedWrite[]; passes: boolean } {
  const { CancellationReasons: reasons } = cancellationSchema.parse(error.answer() ?? {});
  return {
    writes: reasons.map(({ Code, Item }) => ({ failed: Code === 'ConditionalCheckFailed', item: Item })),
    passes: reasons.some(({ Code = '' }) => PASSING.has(Code)),
  };
}
