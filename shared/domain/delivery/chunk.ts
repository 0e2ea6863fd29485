import type { Attempt } from './attempt.ts';
import type { ChunkKey, Lease } from './delivery.ts';

/** What is kept of a delivery that succeeded at its first attempt. Times in milliseconds. */
export type FirstSuccess = Pick<Attempt, 'startedAt' | 'durationMs' | 'statusCode' | 'snippet'>;

/** Where a member stands. `own`: its delivery has a record of its own, which says all. */
export type MemberState = 'pending' | 'own' | FirstSuccess;

/**
 * The first attempts of several deliveries of one message, on record together: one claim for all of them, and the success of
 * each that succeeds at once. Anything else gives a delivery a record of its own, and where there is one, it alone is true.
 * Times are milliseconds since the epoch.
 */
export type Chunk = {
  key: ChunkKey;
  acceptedAt: number;
  /** By subscription, fixed by the first claim: others that a copy of the job names are not members. Undefined: not claimed yet. */
  members?: ReadonlyMap<string, MemberState> | undefined;
  /** Subscriptions whose deliveries were given records of their own before the chunk was claimed. */
  early: ReadonlySet<string>;
  /** Of the one invocation that makes these first attempts. Once it has ended there is no other. */
  lease?: Lease | undefined;
  updatedAt: number;
  expiresAt: number;
};

/** What must hold of a chunk for a write to happen. */
export type ChunkExpectation =
  | { kind: 'unclaimed' }
  /** The lease is the owner's, and nothing is on record of these yet. */
  | { kind: 'held'; owner: string; pending: readonly string[] }
  /** As read: exactly this lease. */
  | { kind: 'lapsed'; lease: Lease }
  /** As read: still pending, or still nothing but its success. */
  | { kind: 'member'; subscriptionId: string; standing: 'pending' | FirstSuccess };

export type ChunkChange = {
  claim?: { acceptedAt: number; members: readonly string[]; lease: Lease };
  standings?: ReadonlyMap<string, 'own' | FirstSuccess>;
  early?: string;
  lease?: null;
  updatedAt: number;
  /** Never moves back. */
  expiresAt: number;
};

export type ChunkTransition = { key: ChunkKey; expect: ChunkExpectation; change: ChunkChange };

/** Whether the condition of a write holds. The DynamoDB adapter says the same in its own language. */
export function chunkHolds(expect: ChunkExpectation, current: Chunk | undefined): boolean {
  const { members, lease } = current ?? {};
  switch (expect.kind) {
    case 'unclaimed':
      return members === undefined;
    case 'held':
      return lease?.owner === expect.owner && expect.pending.every((id) => members?.get(id) === 'pending');
    case 'lapsed':
      return lease?.owner === expect.lease.owner && lease.until === expect.lease.until;
    case 'member':
      return isSameStanding(members?.get(expect.subscriptionId), expect.standing);
  }
}

/** A first attempt is known by when it began: a chunk has one of each delivery. */
function isSameStanding(one: MemberState | undefined, other: 'pending' | FirstSuccess): boolean {
  return other === 'pending' ? one === other : isSuccess(one) && one.startedAt === other.startedAt;
}

export function isSuccess(standing: MemberState | undefined): standing is FirstSuccess {
  return typeof standing === 'object';
}

/** The chunk after a write whose condition held. */
export function applyToChunk(
  { key, change }: Pick<ChunkTransition, 'key' | 'change'>,
  current: Chunk | undefined,
): Chunk {
  const { claim, early, updatedAt, expiresAt } = change;
  const before = current ?? UNWRITTEN;
  return {
    key,
    acceptedAt: (claim ?? before).acceptedAt,
    members: membersAfter(change, before.members),
    early: early === undefined ? before.early : new Set([...before.early, early]),
    lease: change.lease === null ? undefined : (claim ?? before).lease,
    updatedAt,
    expiresAt: Math.max(before.expiresAt, expiresAt),
  };
}

/** The claim sets `acceptedAt`. */
const UNWRITTEN: Omit<Chunk, 'key'> = { acceptedAt: 0, early: new Set(), updatedAt: 0, expiresAt: 0 };

function membersAfter({ claim, standings }: ChunkChange, were: Chunk['members']): Chunk['members'] {
  const members = claim?.members.map((id): [string, MemberState] => [id, 'pending']) ?? were;
  return members && new Map([...members, ...(standings ?? [])]);
}

/** Members to be attempted under the chunk's lease. */
export function pendingIn({ members, early }: Chunk): readonly string[] {
  return [...(members ?? [])].flatMap(([id, standing]) =>
    standing === 'pending' && !early.has(id) ? [id] : [],
  );
}

/** Members whose deliveries have records of their own. */
export function separateMembers({ members, early }: Chunk): readonly string[] {
  return [...(members ?? [])].flatMap(([id, standing]) => (standing === 'own' || early.has(id) ? [id] : []));
}
