import type { Attempt } from './attempt.ts';
import type { Chunk, FirstSuccess } from './chunk.ts';
import { memberKeyOf, type Delivery, type Transition } from './delivery.ts';

/**
 * The delivery of a chunk member; undefined if it is no member or has a separate record. After the lease was ended,
 * a pending member counts one lost request, because its request may have been made.
 */
export function deliveryIn(chunk: Chunk, subscriptionId: string): Delivery | undefined {
  const { key, acceptedAt, members, excluded, lease, updatedAt, expiresAt, retentionDays } = chunk;
  const state = excluded.has(subscriptionId) ? 'separate' : members?.get(subscriptionId);
  if (state === undefined || state === 'separate') return undefined;
  const recorded = {
    key: memberKeyOf(key, subscriptionId),
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
    : { ...recorded, status: 'delivered', attempts: [attemptOf(state)], lost: 0 };
}

function attemptOf(success: FirstSuccess): Attempt {
  return {
    number: 1,
    round: 1,
    phase: 'initial',
    outcome: 'delivered',
    ...success,
  };
}

/** The first success that a transition of a pending member records; undefined: it needs a separate record. */
export function firstSuccessOf(transition: Transition): FirstSuccess | undefined {
  const attempt = onlyAttemptOf(transition);
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
function onlyAttemptOf(transition: Transition): Attempt | undefined {
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
