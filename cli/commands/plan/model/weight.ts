import { MAX_BODY_ON_RECORD } from '../../../../shared/domain/message-body.ts';
import type { OperationTable } from './operation-table.ts';

const KILOBYTE = 1024;
/** DynamoDB's units (Amazon DynamoDB developer guide, "Read and write operations"). */
export const WRITE_UNIT = KILOBYTE;
export const READ_UNIT = 4 * KILOBYTE;
/** SQS, SNS and EventBridge bill each 64 KB of a request (their pricing pages). */
export const CHUNK = 64 * KILOBYTE;

/** So many units as are begun, and one at least. */
export const unitsOf = (bytes: number, unit: number): number => Math.max(1, Math.ceil(bytes / unit));

/** Of a DELIVERY item with so many attempts on it; past what was measured it grows as it did on average. */
export const deliveryBytes = ({ deliveryItemBytes }: OperationTable, attempts: number): number => {
  const measured = deliveryItemBytes[attempts - 1];
  if (measured !== undefined) return measured;
  const [least = 0, most = 0] = [deliveryItemBytes[0], deliveryItemBytes.at(-1)];
  const slope = (most - least) / (deliveryItemBytes.length - 1);
  return most + (attempts - deliveryItemBytes.length) * slope;
};

/** Of a MESSAGE item that keeps its body. */
export const messageBytes = (payloadBytes: number, { messageItemBytes }: OperationTable): number =>
  messageItemBytes + (payloadBytes > MAX_BODY_ON_RECORD ? 0 : payloadBytes);
