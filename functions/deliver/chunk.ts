import { ContendedError } from '../../shared/domain/contention.ts';
import { dissolveChunk, claimChunk, recordSuccesses } from '../../shared/domain/delivery/chunk-changes.ts';
import { deliveryIn } from '../../shared/domain/delivery/chunk-members.ts';
import {
  isSuccess,
  separateMembers,
  pendingIn,
  type Chunk,
  type FirstSuccess,
} from '../../shared/domain/delivery/chunk.ts';
import { memberKeyOf, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import { jobOfMember, type ChunkJob, type DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { leaseFor, type DeliverContext, type Receipt } from './context.ts';
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

/** What a chunk needs was read so slowly that the invocation has no time for its attempts. Nothing was claimed, and its job comes again. */
export class SlowReadsError extends Error {
  override readonly name = 'SlowReadsError';
  constructor({ queue, messageId }: ChunkJob['key']) {
    super(`what message ${queue}/${messageId} needs was read too slowly for its attempts`);
  }
}

/**
 * Claims the first attempts of these members of a chunk, all at once. Undefined: another receive of the job claimed them. While its
 * lease runs the job comes back when that ends; once it ran out, or was given up, each delivery that is left gets a job of
 * its own.
 * @throws ContendedError: SQS brings the job back.
 */
export async function claimMembers(
  context: DeliverContext,
  job: ChunkJob,
  members: readonly string[],
  receipt: Receipt,
): Promise<Chunk | undefined> {
  const { ports } = context;
  const { key, acceptedAt } = job;
  const claim = { acceptedAt, members, lease: leaseFor(context, receipt) };
  const result = await ports.chunks.write(claimChunk(key, claim, writeTime(context)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined) throw contendedChunk(key);
  const { lease } = chunk;
  // Also where the claim was refused by its own first write, repeated after an answer that got lost.
  if (lease?.owner === receipt.owner) return chunk;
  if (lease !== undefined && lease.until > ports.clock.now()) {
    // The holder may have a copy of this very message, which our acknowledgement deletes for both.
    await sendAgain(context, job, lease.until);
    return undefined;
  }
  const ended = lease === undefined ? chunk : await endLapsedLease(context, chunk, lease);
  await ports.deliveryQueue.send(remainingJobs(job, receipt, ended));
  return undefined;
}

/** Whether an earlier receive of the job, or a copy of it, has claimed the chunk. That stays so. */
export async function isClaimed({ ports }: DeliverContext, { key }: ChunkJob): Promise<boolean> {
  return (await ports.chunks.find(key))?.members !== undefined;
}

async function endLapsedLease(
  context: DeliverContext,
  { key }: Chunk,
  lapsed: NonNullable<Chunk['lease']>,
): Promise<Chunk> {
  const { ports } = context;
  const result = await ports.chunks.write(dissolveChunk(key, lapsed, writeTime(context)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined || chunk.lease !== undefined) throw contendedChunk(key);
  for (const subscriptionId of pendingIn(chunk)) {
    ports.journal.note({ fact: 'lease_lost', key: memberKeyOf(key, subscriptionId), attempt: 1 });
  }
  return chunk;
}

function contendedChunk({ queue, messageId, bucket, chunk }: Chunk['key']): ContendedError {
  return new ContendedError(`chunk ${queue}/${messageId}/${bucket}/${chunk}`);
}

/**
 * What is left of a chunk, from now on each delivery with a job of its own, so that copies of one job do not make copies of
 * ten: those that nothing is on record of, which may have been requested; those that this copy of the job names and the claim
 * did not; and those with records of their own, which may wait for just this where the invocation that had the message died.
 */
function remainingJobs(job: ChunkJob, { receiveCount }: Receipt, chunk: Chunk): DeliveryJob[] {
  const lost = (id: string): DeliveryJob => ({ ...jobOfMember(job, id), lost: 1 });
  const single = (id: string): DeliveryJob => jobOfMember(job, id);
  const others = job.subscriptionIds.filter((id) => chunk.members?.has(id) !== true);
  return [
    ...pendingIn(chunk).map(lost),
    ...others.map(single),
    ...separateMembers(chunk).map(receiveCount > 1 ? lost : single),
  ];
}

/**
 * How long a success waits for others to be recorded with: long enough that subscribers of like speed share a write, of which
 * each costs; and no longer, because a crash meanwhile costs a duplicate request.
 */
const GATHERING_MS = 250;

/** A first success that is not on record yet. `resolve`: whether it is by then. */
type PendingSuccess = {
  id: string;
  success: FirstSuccess;
  resolve: (isRecorded: boolean) => void;
  reject: (error: unknown) => void;
};

/**
 * Records the first successes of a chunk that we hold, together: as soon as no other member is pending, or after a short
 * while. The chunk's lease ends with the last of its members.
 */
export class SuccessRecorder {
  readonly #context: DeliverContext;
  readonly #chunk: Chunk;
  readonly #owner: string;
  /** Members of which nothing is on record but the claim of the chunk. */
  readonly #pending: Map<string, Delivery>;
  /** Members that were given records of their own since. */
  readonly #separateMembers: string[] = [];
  #successes: PendingSuccess[] = [];
  #isWriting = false;
  #isTimed = false;

  constructor(context: DeliverContext, chunk: Chunk, owner: string) {
    this.#context = context;
    this.#chunk = chunk;
    this.#owner = owner;
    this.#pending = new Map(
      pendingIn(chunk).flatMap((id) => {
        const delivery = deliveryIn(chunk, id);
        return delivery === undefined ? [] : [[id, delivery] as const];
      }),
    );
  }

  /** A member's delivery as the claim has it. Undefined: it is no member, is recorded, or has a record of its own. */
  pending(subscriptionId: string): Delivery | undefined {
    return this.#pending.get(subscriptionId);
  }

  /** Records the first success of a pending member. False: the member was given a record of its own meanwhile. */
  record(id: string, success: FirstSuccess): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#successes.push({ id, success, resolve, reject });
      this.#writeInTime();
    });
  }

  /** Takes note that a member has a record of its own. A no-op for one that is not pending. */
  leave(id: string): void {
    if (!this.#pending.delete(id)) return;
    this.#separateMembers.push(id);
    this.#writeInTime();
  }

  #writeInTime(): void {
    if (this.#successes.length === 0 || this.#isWriting) return;
    if (this.#successes.length === this.#pending.size) void this.#write();
    else if (!this.#isTimed) void this.#writeLater();
  }

  async #writeLater(): Promise<void> {
    this.#isTimed = true;
    await this.#context.ports.clock.sleep(GATHERING_MS);
    this.#isTimed = false;
    if (this.#successes.length > 0 && !this.#isWriting) void this.#write();
  }

  async #write(): Promise<void> {
    const batch = this.#successes;
    this.#successes = [];
    this.#isWriting = true;
    try {
      await this.#writeBatch(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#isWriting = false;
      this.#writeInTime();
    }
  }

  async #writeBatch(batch: readonly PendingSuccess[]): Promise<void> {
    const recorded = {
      successes: new Map(batch.map(({ id, success }) => [id, success])),
      own: [...this.#separateMembers],
      ends: batch.length === this.#pending.size,
    };
    const { ports } = this.#context;
    const transition = recordSuccesses(this.#chunk.key, this.#owner, recorded, writeTime(this.#context));
    const result = await ports.chunks.write(transition);
    const members = result.kind === 'written' ? undefined : result.current?.members;
    for (const { id, success, resolve } of batch) {
      const standing = members?.get(id);
      // Our own write, repeated after an answer that got lost, is refused by itself.
      const isOurs = isSuccess(standing) && standing.startedAt === success.startedAt;
      const isRecorded = result.kind === 'written' || isOurs;
      if (isRecorded) this.#pending.delete(id);
      resolve(isRecorded);
    }
  }
}
