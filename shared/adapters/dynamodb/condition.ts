import { ConditionalCheckFailedException, TransactionConflictException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';

/** What a conditional write came to. `item` is the one that refused it, where there is one and the write asks for it. */
export type Conditional<Output> =
  | { kind: 'written'; output: Output }
  | { kind: 'refused'; item: Record<string, unknown> | undefined; error: Error };

/** A condition that did not hold is a result; every other error passes through. */
export async function conditional<Output>(write: Promise<Output>): Promise<Conditional<Output>> {
  try {
    return { kind: 'written', output: await write };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const { Item } = error;
    return { kind: 'refused', item: Item === undefined ? undefined : unmarshall(Item), error };
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
    if (error instanceof TransactionConflictException) return undefined;
    throw error;
  }
}
