import { ContendedError } from '../../shared/domain/contention.ts';
import {
  dissolveChunk,
  claimChunk,
  recordSuccesses,
  deliveryIn,
  findFirstSuccess,
  isSuccess,
  separateMembers,
  pendingIn,
  type Chunk,
  type FirstSuccess,
} from '../../shared/domain/delivery/chunk.ts';
import {
  apply,
  createRevised,
  isOpen,
  type OpenDelivery,
  type Revision,
  toMemberKey,
} from '../../shared/domain/delivery/delivery.ts';
import {
  jobOfMember,
  type ChunkJob,
  type DeliveryJob,
  type WakeUp,
} from '../../shared/domain/delivery/job.ts';
import type { WriteResult } from '../../shared/ports/deliveries.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { LeasedRecords } from './claim.ts';
import { leaseFor, type DeliverContext, type SqsReceipt } from './context.ts';
import { sendAgain } from './wake-up.ts';

/** An AWS service failed for some deliveries of a chunk. Transient: SQS redelivers the job. */
export class ChunkFaultError extends Error {
  override readonly name = 'ChunkFaultError';
  constructor({ queue, messageId }: ChunkJob['key'], faults: readonly unknown[]) {
    super(
      `${faults.length} deliveries of message ${queue}/${messageId} failed because of an internal fault`,
      {
        cause: faults.length === 1 ? faults[0] : new AggregateError(faults),
      },
    );
  }
}

/**
 * Reading a chunk's data left the invocation too little time for its attempts. Nothing was claimed; SQS redelivers
 * the job.
 */
export class SlowReadsError extends Error {
  override readonly name = 'SlowReadsError';
  readonly isTransient = true;
  constructor({ queue, messageId }: ChunkJob['key']) {
    super(`reading message ${queue}/${messageId} and its subscriptions left no time for the attempts`);
  }
}

/**
 * Claims the first attempts of these chunk members by one write. Undefined: another receive of the job holds or held
 * the claim. While that lease runs, the job returns at its end; afterwards each remaining delivery gets a separate
 * job.
 * @throws ContendedError: SQS redelivers the job
 */
export async function claimMembers(
  context: DeliverContext,
  job: ChunkJob,
  members: readonly string[],
  receipt: SqsReceipt,
): Promise<Chunk | undefined> {
  const { ports } = context;
  const { key, acceptedAt, dueAt, retentionDays } = job;
  const claim = { acceptedAt, dueAt, members, lease: leaseFor(context, receipt), retentionDays };
  const result = await ports.chunks.write(claimChunk(key, claim, writeTime(context, job)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined) throw contendedChunk(key);
  const { lease } = chunk;
  // A refused claim may be this invocation's earlier write, repeated after a lost response.
  if (lease?.owner === receipt.owner) return chunk;
  if (lease !== undefined && lease.until > ports.clock.now()) {
    // The holder may have received the same SQS message: acknowledging this receive deletes it for both.
    await sendAgain(context, job, lease.until);
    return undefined;
  }
  const ended = lease === undefined ? chunk : await endExpiredLease(context, chunk, lease);
  await ports.deliveryQueue.send(remainingJobs(job, receipt, ended));
  return undefined;
}

/** Whether an earlier receive or a copy of the job claimed the chunk. A claim is never undone. */
export async function isClaimed({ ports }: DeliverContext, { key }: ChunkJob): Promise<boolean> {
  return (await ports.chunks.find(key))?.members !== undefined;
}

async function endExpiredLease(
  context: DeliverContext,
  before: Chunk,
  expired: NonNullable<Chunk['lease']>,
): Promise<Chunk> {
  const { ports } = context;
  const { key } = before;
  const result = await ports.chunks.write(dissolveChunk(key, expired, writeTime(context, before)));
  const chunk = result.kind === 'written' ? result.chunk : result.current;
  if (chunk === undefined || chunk.lease !== undefined) throw contendedChunk(key);
  for (const subscriptionId of pendingIn(chunk)) {
    ports.journal.note({ fact: 'lease_lost', key: toMemberKey(key, subscriptionId), attempt: 1 });
  }
  return chunk;
}

function contendedChunk({ queue, messageId, bucket, chunk }: Chunk['key']): ContendedError {
  return new ContendedError(`chunk ${queue}/${messageId}/${bucket}/${chunk}`);
}

/**
 * One separate job per remaining delivery: a duplicate of it then repeats one delivery, not a whole chunk. Includes
 * members without a result (their request may have been sent), ids that only this copy of the job names, and members
 * with separate records, which may depend on this job after a crash.
 */
function remainingJobs(job: ChunkJob, { receiveCount }: SqsReceipt, chunk: Chunk): DeliveryJob[] {
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
 * How long a success waits for others in one write, in milliseconds. Longer saves writes; shorter bounds the
 * duplicate requests after a crash.
 */
const BATCH_WINDOW_MS = 250;

/** A first success that is not recorded yet. `resolve` receives whether it was recorded. */
type PendingSuccess = {
  id: string;
  success: FirstSuccess;
  resolve: (isRecorded: boolean) => void;
  reject: (error: unknown) => void;
};

/**
 * The records of a claimed chunk's members. Records first successes in few writes: when no other member is pending, or after
 * `BATCH_WINDOW_MS`. The write for the last pending member ends the chunk's lease.
 */
export class ChunkRecords implements LeasedRecords {
  readonly #context: DeliverContext;
  readonly #chunk: Chunk;
  readonly #owner: string;
  /** Members without a result and without a separate record. */
  readonly #pending: Map<string, OpenDelivery>;
  /** Members that received a separate record since the claim. */
  readonly #separateMembers: string[] = [];
  #successes: PendingSuccess[] = [];
  #isWriting = false;
  #isTimerRunning = false;
  #keeping: Promise<void> | undefined;

  constructor(context: DeliverContext, chunk: Chunk, owner: string) {
    this.#context = context;
    this.#chunk = chunk;
    this.#owner = owner;
    this.#pending = new Map(
      pendingIn(chunk).flatMap((id) => {
        const delivery = deliveryIn(chunk, id);
        return delivery !== undefined && isOpen(delivery) ? [[id, delivery] as const] : [];
      }),
    );
  }

  /**
   * A pending member's delivery as claimed. Undefined: not a member, already recorded, or stored in a separate
   * record.
   */
  pendingMember(subscriptionId: string): OpenDelivery | undefined {
    return this.#pending.get(subscriptionId);
  }

  /**
   * Writes under the lease. A pending member's first success is recorded in the chunk; any other transition creates a
   * separate record for it.
   */
  async write(transition: Revision): Promise<WriteResult> {
    const { key, change } = transition;
    const { deliveries } = this.#context.ports;
    const delivery = this.pendingMember(key.subscriptionId);
    if (delivery === undefined) return deliveries.write(transition);
    const success = findFirstSuccess(transition);
    if (success !== undefined && (await this.#record(key.subscriptionId, success)))
      return { kind: 'written', delivery: apply(change, delivery) };
    const result = await deliveries.write(createRevised(transition, delivery));
    this.markSeparate(key.subscriptionId);
    // Refused: the API created the record meanwhile, with the same lease or already cancelled. Its condition decides.
    return result.kind === 'refused' ? deliveries.write(transition) : result;
  }

  /**
   * Keeps the message for all members: members that fail together would all write to its record, and a throttled write
   * makes them repeat their requests.
   */
  keepMessage(work: DeliveryJob | WakeUp): Promise<void> {
    this.#keeping ??= keepMessage(this.#context, work);
    return this.#keeping.catch(() => keepMessage(this.#context, work));
  }

  /** Records the first success of a pending member. False: the member has received a separate record. */
  #record(id: string, success: FirstSuccess): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#successes.push({ id, success, resolve, reject });
      this.#writeWhenDue();
    });
  }

  /** Marks a member as stored in a separate record. A no-op for a member that is not pending. */
  markSeparate(id: string): void {
    if (!this.#pending.delete(id)) return;
    this.#separateMembers.push(id);
    this.#writeWhenDue();
  }

  #writeWhenDue(): void {
    if (this.#successes.length === 0 || this.#isWriting) return;
    if (this.#successes.length === this.#pending.size) void this.#write();
    else if (!this.#isTimerRunning) void this.#writeLater();
  }

  async #writeLater(): Promise<void> {
    this.#isTimerRunning = true;
    await this.#context.ports.clock.sleep(BATCH_WINDOW_MS);
    this.#isTimerRunning = false;
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
      this.#writeWhenDue();
    }
  }

  async #writeBatch(batch: readonly PendingSuccess[]): Promise<void> {
    const recorded = {
      successes: new Map(batch.map(({ id, success }) => [id, success])),
      separate: [...this.#separateMembers],
      ends: batch.length === this.#pending.size,
    };
    const { ports } = this.#context;
    const at = writeTime(this.#context, this.#chunk);
    const transition = recordSuccesses(this.#chunk.key, this.#owner, recorded, at);
    const result = await ports.chunks.write(transition);
    const members = result.kind === 'written' ? undefined : result.current?.members;
    for (const { id, success, resolve } of batch) {
      const state = members?.get(id);
      // A write repeated after a lost response is refused because the first one succeeded.
      const isOwnWrite = isSuccess(state) && state.startedAt === success.startedAt;
      const isRecorded = result.kind === 'written' || isOwnWrite;
      if (isRecorded) this.#pending.delete(id);
      resolve(isRecorded);
    }
  }
}
