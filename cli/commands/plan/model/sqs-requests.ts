import { MAX_BODY_IN_JOB } from '../../../../shared/domain/message/body.ts';
import { bytesWith } from './chunk-records.ts';
import type { Jobs } from './jobs.ts';
import { byRequest, ofInvocation } from './joined-sends.ts';
import type { OperationTable } from './operation-table.ts';
import type { Units } from './units.ts';
import { REQUEST_UNIT, unitsOf } from './weight.ts';
import type { Work } from './work.ts';

/** By who makes them: Lambda fetches a batch by one and deletes it by another. */
export type SqsRequests = {
  producer: number;
  ingress: number;
  jobs: number;
  delivery: number;
  retries: number;
};

export function sqsRequests(
  { messages, payloadBytes, batches }: Work,
  jobs: Jobs,
  { table: { envelopeBytes }, dispatch, deliver }: { table: OperationTable; dispatch: Units; deliver: Units },
): SqsRequests {
  const ingress = envelopeBytes.ingress + payloadBytes;
  const job = bytesOfJob(jobs, envelopeBytes) + (payloadBytes > MAX_BODY_IN_JOB ? 0 : payloadBytes);
  const ofSends = { records: batches.ingress, messages: jobs.chunks + jobs.singles };
  const jobRequests = (count: number): number =>
    byRequest(count, (inOne) => unitsOf(inOne * job, REQUEST_UNIT));
  const polled = (records: number, bytes: number, batch: number): number =>
    (records / batch) * (unitsOf(batch * bytes, REQUEST_UNIT) + 1);
  return {
    producer: messages * unitsOf(ingress, REQUEST_UNIT),
    ingress: polled(dispatch.firstRecords, ingress, batches.ingress),
    jobs: (messages / batches.ingress) * ofInvocation(ofSends, jobRequests),
    delivery: polled(deliver.firstRecords, job, batches.delivery),
    retries:
      deliver.sendRequests +
      deliver.schedules +
      polled(deliver.retryRecords, envelopeBytes.wakeUp, batches.retry),
  };
}

/** What is around the payload in a job, on average. */
function bytesOfJob(
  { chunks, members, singles }: Jobs,
  { job, chunkJob }: OperationTable['envelopeBytes'],
): number {
  const ofChunks = chunks === 0 ? 0 : chunks * bytesWith(chunkJob, members / chunks);
  return (ofChunks + singles * job) / (chunks + singles);
}
