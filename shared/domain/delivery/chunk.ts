import type { Answered, Attempt } from './attempt.ts';
import type { Retained } from '../retention.ts';
import type { ChunkKey, Lease } from './delivery.ts';

/** The record of a delivery that succeeded on the first attempt. Times in milliseconds. */
export type FirstSuccess = Pick<Attempt, 'startedAt' | 'durationMs'> & { result: Answered };

/** State of a member. `separate`: its delivery has a separate record, which is authoritative. */
export type MemberState = 'pending' | 'separate' | FirstSuccess;

/**
 * One record for the first attempts of several deliveries of a message: one claim for all, and each first success.
 * After any other result a delivery gets a separate record, which is then authoritative. Times are milliseconds
 * since the epoch.
 */
export type Chunk = Retained & {
  key: ChunkKey;
  acceptedAt: number;
  /**
   * By subscription id, fixed by the first claim: other ids in a copy of the job are not members. Undefined: not
   * claimed.
   */
  members?: ReadonlyMap<string, MemberState> | undefined;
  /** Never attempted under the chunk's lease: their deliveries got separate records before the claim. */
  excluded: ReadonlySet<string>;
  /** Held by the one invocation that makes these first attempts. A chunk is never leased again. */
  lease?: Lease | undefined;
  updatedAt: number;
  expiresAt: number;
};

/** Condition of a write to a chunk. */
export type ChunkExpectation =
  | { kind: 'unclaimed' }
  /** `owner` holds the lease, and these members are still pending. */
  | { kind: 'leased'; owner: string; pending: readonly string[] }
  /** The lease is unchanged since it was read. */
  | { kind: 'lease_expired'; lease: Lease }
  /** The member is unchanged since it was read: pending, or the same success. */
  | { kind: 'member'; subscriptionId: string; state: 'pending' | FirstSuccess };

export type ChunkClaim = Retained & { acceptedAt: number; members: readonly string[]; lease: Lease };

export type ChunkChange = {
  claim?: ChunkClaim;
  states?: ReadonlyMap<string, 'separate' | FirstSuccess>;
  /** A subscription that must not become a member. */
  exclude?: string;
  lease?: null;
  updatedAt: number;
  /** Only ever increases. */
  expiresAt: number;
};

export type ChunkTransition = { key: ChunkKey; expect: ChunkExpectation; change: ChunkChange };

/** Whether the condition of a write holds. The DynamoDB adapter expresses the same condition. */
export function chunkHolds(expect: ChunkExpectation, current: Chunk | undefined): boolean {
  const { members, lease } = current ?? {};
  switch (expect.kind) {
    case 'unclaimed':
      return members === undefined;
    case 'leased':
      return lease?.owner === expect.owner && expect.pending.every((id) => members?.get(id) === 'pending');
    case 'lease_expired':
      return lease?.owner === expect.lease.owner && lease.until === expect.lease.until;
    case 'member':
      return isSameState(members?.get(expect.subscriptionId), expect.state);
  }
}

/** A chunk has one first attempt of each delivery, so its start time identifies it. */
function isSameState(one: MemberState | undefined, other: 'pending' | FirstSuccess): boolean {
  return other === 'pending' ? one === other : isSuccess(one) && one.startedAt === other.startedAt;
}

export function isSuccess(state: MemberState | undefined): state is FirstSuccess {
  return typeof state === 'object';
}

/** The chunk after a successful write. */
export function applyToChunk(
  { key, change }: Pick<ChunkTransition, 'key' | 'change'>,
  current: Chunk | undefined,
): Chunk {
  const { claim, exclude, updatedAt, expiresAt } = change;
  const before = current ?? UNWRITTEN;
  return {
    key,
    acceptedAt: (claim ?? before).acceptedAt,
    members: membersAfter(change, before.members),
    excluded: exclude === undefined ? before.excluded : new Set([...before.excluded, exclude]),
    lease: change.lease === null ? undefined : (claim ?? before).lease,
    updatedAt,
    expiresAt: Math.max(before.expiresAt, expiresAt),
    retentionDays: (claim ?? before).retentionDays,
  };
}

/** `acceptedAt` is set by the claim. */
const UNWRITTEN: Omit<Chunk, 'key'> = { acceptedAt: 0, excluded: new Set(), updatedAt: 0, expiresAt: 0 };

function membersAfter({ claim, states }: ChunkChange, were: Chunk['members']): Chunk['members'] {
  const members = claim?.members.map((id): [string, MemberState] => [id, 'pending']) ?? were;
  return members && new Map([...members, ...(states ?? [])]);
}

/** Members that are attempted under the chunk's lease. */
export function pendingIn({ members, excluded }: Chunk): readonly string[] {
  return [...(members ?? [])].flatMap(([id, state]) =>
    state === 'pending' && !excluded.has(id) ? [id] : [],
  );
}

/** Members whose deliveries have separate records. */
export function separateMembers({ members, excluded }: Chunk): readonly string[] {
  return [...(members ?? [])].flatMap(([id, state]) =>
    state === 'separate' || excluded.has(id) ? [id] : [],
  );
}
