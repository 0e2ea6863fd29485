import type { ChunkTransition, FirstSuccess } from './chunk.ts';
import type { ChunkKey, Delivery, Lease, WriteTime } from './delivery.ts';

/** Takes the lease for the first attempts of all members, and fixes which deliveries are members. */
export function claimChunk(
  key: ChunkKey,
  { acceptedAt, members, lease }: { acceptedAt: number; members: readonly string[]; lease: Lease },
  at: WriteTime,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'unclaimed' },
    change: { claim: { acceptedAt, members, lease }, ...lasting(at) },
  };
}

/** Records first successes, and which members have records of their own by now. */
export function recordSuccesses(
  key: ChunkKey,
  owner: string,
  recorded: { successes: ReadonlyMap<string, FirstSuccess>; own: readonly string[]; ends: boolean },
  at: WriteTime,
): ChunkTransition {
  const { successes, own, ends } = recorded;
  return {
    key,
    expect: { kind: 'held', owner, pending: [...successes.keys()] },
    change: {
      standings: new Map<string, 'own' | FirstSuccess>([
        ...own.map((id): [string, 'own'] => [id, 'own']),
        ...successes,
      ]),
      ...(ends ? { lease: null } : {}),
      ...lasting(at),
    },
  };
}

/** Ends a lease that ran out: from then on each pending delivery is attempted by itself. */
export function dissolveChunk(key: ChunkKey, lapsed: Lease, at: WriteTime): ChunkTransition {
  return {
    key,
    expect: { kind: 'lapsed', lease: lapsed },
    change: { lease: null, ...lasting(at) },
  };
}

/** Takes a member out whose delivery is given a record of its own by the same transaction. */
export function removeMember(
  key: ChunkKey,
  subscriptionId: string,
  standing: 'pending' | FirstSuccess,
  at: Pick<Delivery, 'updatedAt' | 'expiresAt'>,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'member', subscriptionId, standing },
    change: { standings: new Map([[subscriptionId, 'own']]), ...timesOf(at) },
  };
}

/** The same for one that would be a member once the chunk is claimed. */
export function removeMemberBeforeClaim(
  key: ChunkKey,
  subscriptionId: string,
  at: Pick<Delivery, 'updatedAt' | 'expiresAt'>,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'unclaimed' },
    change: { early: subscriptionId, ...timesOf(at) },
  };
}

function timesOf({ updatedAt, expiresAt }: Pick<Delivery, 'updatedAt' | 'expiresAt'>) {
  return {
    updatedAt,
    expiresAt,
  };
}

function lasting({ now, retentionMs }: WriteTime) {
  return { updatedAt: now, expiresAt: now + retentionMs };
}
