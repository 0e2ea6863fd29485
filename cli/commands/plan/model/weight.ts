import { MOST_SNIPPET } from '../../../../shared/domain/delivery/chunk-members.ts';
import { MAX_BODY_ON_RECORD } from '../../../../shared/domain/message/body.ts';
import type { OperationTable } from './operation-table.ts';

const KILOBYTE = 1024;
/** DynamoDB's units (Amazon DynamoDB developer guide, "Read and write operations"). */
export const WRITE_UNIT = KILOBYTE;
export const READ_UNIT = 4 * KILOBYTE;
/** SQS, SNS and EventBridge bill each 64 KB of a request (their pricing pages). */
export const REQUEST_UNIT = 64 * KILOBYTE;

/** So many units as are begun, and one at least. */
export function unitsOf(bytes: number, unit: number): number {
  return Math.max(1, Math.ceil(bytes / unit));
}

/** Of a DELIVERY item with so many attempts on it; past what was measured it grows as it did on average. */
export function deliveryBytes({ deliveryItemBytes }: OperationTable, attempts: number): number {
  const measured = deliveryItemBytes[attempts - 1];
  if (measured !== undefined) return measured;
  const [least = 0, most = 0] = [deliveryItemBytes[0], deliveryItemBytes.at(-1)];
  const slope = (most - least) / (deliveryItemBytes.length - 1);
  return most + (attempts - deliveryItemBytes.length) * slope;
}

/** Of a MESSAGE item that keeps its body. */
export function messageBytes(payloadBytes: number, { messageItemBytes }: OperationTable): number {
  return messageItemBytes + (payloadBytes > MAX_BODY_ON_RECORD ? 0 : payloadBytes);
}

/** What is kept of an answer, in bytes (shared/adapters/http/reply-reading.ts). */
const MOST_KEPT_OF_ANSWER = 256;

/** The table as it were, had subscribers answered with so many bytes: it was counted with none. Of a delivery that fails alike every time the first answer is kept. */
export function withAnswers(table: OperationTable, answerBytes: number): OperationTable {
  const kept = Math.min(answerBytes, MOST_KEPT_OF_ANSWER);
  const keptInChunk = Math.min(answerBytes, MOST_SNIPPET);
  const { claimed, recorded } = table.chunkItemBytes;
  return {
    ...table,
    deliveryItemBytes: table.deliveryItemBytes.map((bytes) => bytes + kept),
    chunkItemBytes: { claimed, recorded: { ...recorded, member: recorded.member + keptInChunk } },
  };
}
