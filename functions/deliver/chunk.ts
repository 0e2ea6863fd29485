import { apartFrom, pendingIn, type Chunk } from '../../shared/domain/delivery/chunk.ts';
import { breakUp, claimChunk } from '../../shared/domain/delivery/chunk-changes.ts';
import { memberKeyOf } from '../../shared/domain/delivery/delivery.ts';
import { jobOfMember, type ChunkJob, type DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { hasTimeForAttempt, leaseUntil, type DeliverContext, type Received } from './context.ts';
import { enterAndAttempt, sentOn } from './deliver.ts';
import { heldChunk } from './held-chunk.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { sendAgain } from './wake-up.ts';

/** Some deliveries of a chunk met a fault of ours. Transient: its job comes again. */
export class ChunkFaultError extends Error {
  override readonly name = 'ChunkFaultError';
  constructor({ queue, messageId }: ChunkJob['key'], faults: readonly unknown[]) {
    super(`${faults.length} deliveries of message ${queue}/${messageId} met a fault`, {
      cause: faults.length === 1 ? faults[0] : new AggregateError(faults),
    });
  }
}

/** The record of a chunk changed between two writes of ours. Transient: SQS brings the job back. */
export class ContendedChunkError extends Error {
  override readonly name = 'ContendedChunkError';
  constructor({ queue, messageId, bucket, chunk }: ChunkJob['key']) {
    super(`Chunk ${chunk} of bucket ${bucket} of message ${queue}/${messageId} changed while it was entered`);
  }
}

/**
 * The first attempts of several deliveries of a message, side by side, under one claim. Whoever finds that claim lapsed ends
 * it, and sends a job for each delivery that is not on record then: what goes wrong goes on by itself. It returns when the
 * job may be acknowledged, and throws when it must come again.
 */
export async function deliverChunk(
  context: DeliverContext,
  job: ChunkJob,
  received: Received,
): Promise<void> {
  const { ports, settings } = context;
  if (await sentOn(context, job, job.dueAt)) return;
  const { key, acceptedAt, subscriptionIds } = job;
  if (!hasTimeForAttempt(received, settings)) {
    for (const id of subscriptionIds)
      ports.journal.note({ fact: 'time_given_back', key: memberKeyOf(key, id), attempt: 1 });
    await sendAgain(context, job, ports.clock.now());
    return;
  }
  const lease = { owner: received.owner, until: leaseUntil(ports.clock.now(), settings) };
  const claim = { acceptedAt, members: subscriptionIds, lease };
  const result = await ports.chunks.write(claimChunk(key, claim, momentOf(context)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined) throw new ContendedChunkError(key);
  // Refused by what it wrote itself, sent twice, it is ours as well.
  if (chunk.lease?.owner === received.owner) await attemptMembers(context, job, received, chunk);
  else await followOther(context, job, received, chunk);
}

/** Side by side, to the end of each. @throws ChunkFaultError */
async function attemptMembers(
  context: DeliverContext,
  job: ChunkJob,
  received: Received,
  chunk: Chunk,
): Promise<void> {
  const deliveries = heldChunk(context, chunk, received.owner);
  const asHolder = { ...context, ports: { ...context.ports, deliveries } };
  const results = await Promise.allSettled(
    job.subscriptionIds.map((id) => enterAndAttempt(asHolder, jobOfMember(job, id), received)),
  );
  const faults = results.flatMap((result): unknown[] =>
    result.status === 'rejected' ? [result.reason] : [],
  );
  if (faults.length > 0) throw new ChunkFaultError(job.key, faults);
}

/** Somebody else has claimed it: they are at it, or they are done, or they did not come back. */
async function followOther(
  context: DeliverContext,
  job: ChunkJob,
  received: Received,
  chunk: Chunk,
): Promise<void> {
  const { clock, deliveryQueue } = context.ports;
  const { lease } = chunk;
  if (lease !== undefined && lease.until > clock.now()) {
    // As with a single first attempt: whoever acknowledges a message that SQS hands out twice deletes it for both.
    await sendAgain(context, job, lease.until);
    return;
  }
  const ended = lease === undefined ? chunk : await brokenUp(context, chunk, lease);
  await deliveryQueue.send(remainingJobs(job, received, ended));
}

async function brokenUp(
  context: DeliverContext,
  { key }: Chunk,
  lapsed: NonNullable<Chunk['lease']>,
): Promise<Chunk> {
  const { ports } = context;
  const result = await ports.chunks.write(breakUp(key, lapsed, momentOf(context)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined || chunk.lease !== undefined) throw new ContendedChunkError(key);
  for (const subscriptionId of pendingIn(chunk)) {
    ports.journal.note({ fact: 'lease_lost', key: memberKeyOf(key, subscriptionId), attempt: 1 });
  }
  return chunk;
}

/**
 * What is left, each from now on with a job of its own, so that copies of one job do not make copies of ten: those that
 * nothing is on record of, which may have been asked; those that another copy of the job named and the claim did not; and
 * those that have records of their own, which may be waiting for just this, above all where whoever had this message died.
 */
function remainingJobs(job: ChunkJob, { receiveCount }: Received, chunk: Chunk): DeliveryJob[] {
  const lost = (id: string): DeliveryJob => ({ ...jobOfMember(job, id), lost: 1 });
  const single = (id: string): DeliveryJob => jobOfMember(job, id);
  const others = job.subscriptionIds.filter((id) => chunk.members?.has(id) !== true);
  return [
    ...pendingIn(chunk).map(lost),
    ...others.map(single),
    ...apartFrom(chunk).map(receiveCount > 1 ? lost : single),
  ];
}
