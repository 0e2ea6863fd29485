import * as z from 'zod';
import { absent, isRefusal } from '../aws/answer.ts';
import type { Item } from '../aws/document-client.ts';
import { itemSchema } from '../aws/document-values.ts';

/** What a conditional write came to. `item` is the one that refused it, where there is one and the write asks for it. */
export type Conditional<Output> =
  { kind: 'written'; output: Output } | { kind: 'refused'; item: Item | undefined; error: Error };

const refusalSchema = z.object({ Item: absent(itemSchema) });

/** A condition that did not hold is a result; every other error passes through. */
export async function conditional<Output>(write: Promise<Output>): Promise<Conditional<Output>> {
  try {
    return { kind: 'written', output: await write };
  } catch (error) {
    if (!isRefusal(error, 'ConditionalCheckFailedException')) throw error;
    return { kind: 'refused', item: refusalSchema.parse(error.answer() ?? {}).Item, error };
  }
}

/** What a conditional write answered; undefined where its condition did not hold. Every other error passes through. */
export async function ifConditionHolds<Output>(write: Promise<Output>): Promise<Output | undefined> {
  const result = await conditional(write);
  return result.kind === 'written' ? result.output : undefined;
}

/** As `ifConditionHolds`; a transaction that had the item just then counts as a change of it. */
export async function ifUndisturbed<Output>(write: Promise<Output>): Promise<Output | undefined> {
  try {
    return await ifConditionHolds(write);
  } catch (error) {
    if (isRefusal(error, 'TransactionConflictException')) return undefined;
    throw error;
  }
}
