import { MAX_BODY_IN_JOB } from '../../../../shared/domain/message-body.ts';
import type { OperationTable } from './operation-table.ts';
import type { Units } from './units.ts';
import { CHUNK, unitsOf } from './weight.ts';
import type { Work } from './work.ts';

/** Amazon SQS: messages in a batch. */
const MOST_IN_BATCH = 10;

/** The producer's request, dispatch's, deliver's, Scheduler's, and Lambda's: it fetches a batch by one and deletes it by another. */
export const sqsRequests = (
  { messages, fanOut, payloadBytes, batches }: Work,
  { envelopeBytes }: OperationTable,
  { dispatch, deliver }: { dispatch: Units; deliver: Units },
): number => {
  const body = payloadBytes > MAX_BODY_IN_JOB ? 0 : payloadBytes;
  const [ingress, job] = [envelopeBytes.ingress + payloadBytes, envelopeBytes.job + body];
  const polled = (records: number, bytes: number, batch: number): number =>
    (records / batch) * (unitsOf(batch * bytes, CHUNK) + 1);
  return (
    messages * unitsOf(ingress, CHUNK) +
    messages * jobRequests(fanOut, job) +
    deliver.sendRequests +
    deliver.schedules +
    polled(dispatch.firstRecords, ingress, batches.ingress) +
    polled(deliver.firstRecords, job, batches.delivery) +
    polled(deliver.retryRecords, envelopeBytes.wakeUp, batches.retry)
  );
};

const jobRequests = (fanOut: number, jobBytes: number): number => {
  const full = Math.floor(fanOut / MOST_IN_BATCH);
  const rest = fanOut % MOST_IN_BATCH;
  return full * unitsOf(MOST_IN_BATCH * jobBytes, CHUNK) + (rest === 0 ? 0 : unitsOf(rest * jobBytes, CHUNK));
};
