import type { ChunkClaim, ChunkTransition, FirstSuccess } from './chunk.ts';
import type { ChunkKey, Delivery, Lease, WriteTime } from './delivery.ts';

/** Claims the first attempts of all members, and fixes which deliveries are members. */
export function claimChunk(key: ChunkKey, claim: ChunkClaim, at: WriteTime): ChunkTransition {
  return { key, expect: { kind: 'unclaimed' }, change: { claim, ...retained(at) } };
}

/** Records first successes and which members have separate records by now. */
export function recordSuccesses(
  key: ChunkKey,
  owner: string,
  recorded: { successes: ReadonlyMap<string, FirstSuccess>; separate: readonly string[]; ends: boolean },
  at: WriteTime,
): ChunkTransition {
  const { successes, separate, ends } = recorded;
  return {
    key,
    expect: { kind: 'leased', owner, pending: [...successes.keys()] },
    change: {
      states: new Map<string, 'separate' | FirstSuccess>([
        ...separate.map((id): [string, 'separate'] => [id, 'separate']),
        ...successes,
      ]),
      ...(ends ? { lease: null } : {}),
      ...retained(at),
    },
  };
}

/** Ends an expired lease: each pending delivery is then attempted separately. */
export function dissolveChunk(key: ChunkKey, expired: Lease, at: WriteTime): ChunkTransition {
  return {
    key,
    expect: { kind: 'lease_expired', lease: expired },
    change: { lease: null, ...retained(at) },
  };
}

/** Removes a member whose delivery gets a separate record in the same transaction. */
export function removeMember(
  key: ChunkKey,
  subscriptionId: string,
  state: 'pending' | FirstSuccess,
  at: Pick<Delivery, 'updatedAt' | 'expiresAt'>,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'member', subscriptionId, state },
    change: { states: new Map([[subscriptionId, 'separate']]), ...timesOf(at) },
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
    change: { exclude: subscriptionId, ...timesOf(at) },
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
