import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';

/** What a conditional write answered; undefined where its condition did not hold. Every other error passes through. */
export const ifConditionHolds = async <Output>(write: Promise<Output>): Promise<Output | undefined> => {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return undefined;
    throw error;
  }
};
