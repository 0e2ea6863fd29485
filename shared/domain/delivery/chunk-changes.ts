import type { ChunkTransition, FirstSuccess } from './chunk.ts';
import type { ChunkKey, Delivery, Lease, WriteTime } from './delivery.ts';

/** Claims the first attempts of all members, and fixes which deliveries are members. */
export function claimChunk(
  key: ChunkKey,
  { acceptedAt, members, lease }: { acceptedAt: number; members: readonly string[]; lease: Lease },
  at: WriteTime,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'unclaimed' },
    change: { claim: { acceptedAt, members, lease }, ...retained(at) },
  };
}

/** Records first successes and which members have separate records by now. */
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
      ...retained(at),
    },
  };
}

/** Ends an expired lease: each pending delivery is then attempted separately. */
export function dissolveChunk(key: ChunkKey, lapsed: Lease, at: WriteTime): ChunkTransition {
  return {
    key,
    expect: { kind: 'lapsed', lease: lapsed },
    change: { lease: null, ...retained(at) },
  };
}

/** Removes a member whose delivery gets a separate record in the same transaction. */
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

/** Removes a subscription before the chunk is claimed, so that it does not become a member. */
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

function retained({ now, retentionMs }: WriteTime) {
  return { updatedAt: now, expiresAt: now + retentionMs };
}
