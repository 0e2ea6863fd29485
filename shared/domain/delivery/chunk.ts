import type { Retained } from '../retention.ts';
import type { Answered, Attempt } from './attempt.ts';
import {
  type ChunkKey,
  type Delivery,
  type Lease,
  toMemberKey,
  type Transition,
  type WriteTime,
} from './delivery.ts';

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
  /** When the delay of the message ended. */
  dueAt?: number | undefined;
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

/** Condition of a write to a chunk; test/support/in-memory/chunk-model.ts says when it holds. */
export type ChunkExpectation =
  | { kind: 'unclaimed' }
  /** `owner` holds the lease, and these members are still pending. */
  | { kind: 'leased'; owner: string; pending: readonly string[] }
  /** The lease is unchanged since it was read. */
  | { kind: 'lease_expired'; lease: Lease }
  /** The member is unchanged since it was read: pending, or the same success. */
  | { kind: 'member'; subscriptionId: string; state: 'pending' | FirstSuccess };

type ChunkClaim = Retained &
  Pick<Chunk, 'acceptedAt' | 'dueAt'> & { members: readonly string[]; lease: Lease };

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

export function isSuccess(state: MemberState | undefined): state is FirstSuccess {
  return typeof state === 'object';
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

/**
 * The delivery of a chunk member; undefined if it is no member or has a separate record. After the lease was ended,
 * a pending member counts one lost request, because its request may have been made.
 */
export function deliveryIn(chunk: Chunk, subscriptionId: string): Delivery | undefined {
  const { key, acceptedAt, dueAt, members, excluded, lease, updatedAt, expiresAt, retentionDays } = chunk;
  const state = excluded.has(subscriptionId) ? 'separate' : members?.get(subscriptionId);
  if (state === undefined || state === 'separate') return undefined;
  const due = dueAt === undefined ? {} : { dueAt };
  const recorded = {
    key: toMemberKey(key, subscriptionId),
    acceptedAt,
    round: 1,
    lateResults: [],
    pendingSteps: [],
    recoveries: [],
    updatedAt,
    expiresAt,
    retentionDays,
  };
  return state === 'pending'
    ? { ...recorded, status: 'pending', attempts: [], lease, lost: lease === undefined ? 1 : 0 }
    : { ...recorded, status: 'delivered', attempts: [{ ...FIRST_DELIVERED, ...due, ...state }], lost: 0 };
}

const FIRST_DELIVERED = { number: 1, round: 1, phase: 'initial', outcome: 'delivered' } as const;

/** The first success that a transition of a pending member records; undefined: it needs a separate record. */
export function findFirstSuccess(transition: Transition): FirstSuccess | undefined {
  const attempt = findOnlyAttempt(transition);
  if (attempt === undefined || !isPlain(attempt)) return undefined;
  const { startedAt, durationMs, result } = attempt;
  if (result.kind !== 'answered') return undefined;
  const { snippet } = result;
  return {
    startedAt,
    durationMs,
    result: snippet === undefined ? result : { ...result, snippet: truncated(snippet) },
  };
}

/** The attempt that a transition records; undefined: it also leaves pending steps, or records none. */
function findOnlyAttempt(transition: Transition): Attempt | undefined {
  if (!('change' in transition)) return undefined;
  const { change } = transition;
  const leavesSteps = 'pendingSteps' in change && change.pendingSteps.length > 0;
  return leavesSteps ? undefined : change.appendAttempt;
}

/** Bytes. Keeps ten members below the 1 KB unit by which DynamoDB charges writes. */
export const MAX_SNIPPET_BYTES = 24;

function truncated(snippet: string): string {
  let beginning = '';
  for (const character of snippet) {
    if (Buffer.byteLength(beginning + character) > MAX_SNIPPET_BYTES) break;
    beginning += character;
  }
  return beginning;
}

const CHUNK_FIELDS: ReadonlySet<string> = new Set<keyof Attempt>([
  'number',
  'round',
  'phase',
  'outcome',
  // Of the chunk.
  'dueAt',
  'startedAt',
  'durationMs',
  'result',
]);

function isPlain(attempt: Attempt): boolean {
  return (
    attempt.number === 1 &&
    attempt.round === 1 &&
    attempt.phase === 'initial' &&
    attempt.outcome === 'delivered' &&
    Object.keys(attempt).every((name) => CHUNK_FIELDS.has(name))
  );
}

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
  { updatedAt, expiresAt }: Pick<Delivery, 'updatedAt' | 'expiresAt'>,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'member', subscriptionId, state },
    change: { states: new Map([[subscriptionId, 'separate']]), updatedAt, expiresAt },
  };
}

/** Removes a subscription before the chunk is claimed, so that it does not become a member. */
export function removeMemberBeforeClaim(
  key: ChunkKey,
  subscriptionId: string,
  { updatedAt, expiresAt }: Pick<Delivery, 'updatedAt' | 'expiresAt'>,
): ChunkTransition {
  return {
    key,
    expect: { kind: 'unclaimed' },
    change: { exclude: subscriptionId, updatedAt, expiresAt },
  };
}

function retained({ now, retentionMs }: WriteTime) {
  return { updatedAt: now, expiresAt: now + retentionMs };
}
