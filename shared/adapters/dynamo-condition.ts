import { ConditionalCheckFailedException, TransactionConflictException } from '@aws-sdk/client-dynamodb';

/** What a conditional write answered; undefined where its condition did not hold. Every other error passes through. */
export const ifConditionHolds = async <Output>(write: Promise<Output>): Promise<Output | undefined> => {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return undefined;
    throw error;
  }
};

/** As `ifConditionHolds`; a transaction that had the item just then counts as a change of it. */
export const ifUndisturbed = async <Output>(write: Promise<Output>): Promise<Output | undefined> => {
  try {
    return await ifConditionHolds(write);
  } catch (error) {
    if (error instanceof TransactionConflictException) return undefined;
    throw error;
  }
};
