import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import type { DynamoDBDocumentClient, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Clock } from '../ports/clock.ts';

/** For every write of the transaction in order: whether its condition failed, and the item that it failed on, if asked for. */
type RefusedWrite = { failed: boolean; item: unknown };

export type TransactionResult =
  | { kind: 'written' }
  | { kind: 'refused'; writes: readonly RefusedWrite[]; error: TransactionCanceledException };

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 25;

/**
 * Writes all or nothing. Where another transaction has one of the items just now (the SDK does not try that again), it is
 * tried anew after a pause, eight times in all. Errors pass through, but for a condition that did not hold.
 */
export const transacted = async (
  client: DynamoDBDocumentClient,
  clock: Pick<Clock, 'sleep'>,
  writes: NonNullable<TransactWriteCommandInput['TransactItems']>,
): Promise<TransactionResult> => {
  for (let tried = 1; ; tried += 1) {
    try {
      await client.send(new TransactWriteCommand({ TransactItems: writes }));
      return { kind: 'written' };
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      if (hasReason(error, 'ConditionalCheckFailed'))
        return { kind: 'refused', writes: refusedWrites(error), error };
      if (!hasReason(error, 'TransactionConflict') || tried === MAX_TRIES) throw error;
    }
    await clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried);
  }
};

const hasReason = ({ CancellationReasons }: TransactionCanceledException, code: string): boolean =>
  CancellationReasons?.some(({ Code }) => Code === code) === true;

const refusedWrites = ({ CancellationReasons = [] }: TransactionCanceledException): RefusedWrite[] =>
  CancellationReasons.map(({ Code, Item }) => ({
    failed: Code === 'ConditionalCheckFailed',
    item: Item === undefined ? undefined : unmarshall(Item),
  }));
