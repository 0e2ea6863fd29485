import {
  type Chunk,
  type ChunkChange,
  type ChunkExpectation,
  type ChunkTransition,
  type FirstSuccess,
  isSuccess,
  type MemberState,
} from '../../../shared/domain/delivery/chunk.ts';

/**
 * What the conditional writes to a chunk mean. The adapters' contract compares each store with it, and the stores in
 * memory are made of it.
 */

/** Whether the condition of a write holds. */
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
    dueAt: (claim ?? before).dueAt,
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
