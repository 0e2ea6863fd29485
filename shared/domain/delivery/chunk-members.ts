import type { Attempt } from './attempt.ts';
import type { Chunk, FirstSuccess } from './chunk.ts';
import { memberKeyOf, type Delivery, type Transition } from './delivery.ts';

/**
 * A delivery as its chunk has it; undefined where it is no member, or has a record of its own. Where the lease was ended, the
 * request of a pending member may have been made, so it counts as lost once.
 */
export function deliveryIn(chunk: Chunk, subscriptionId: string): Delivery | undefined {
  const { key, acceptedAt, members, early, updatedAt, expiresAt } = chunk;
  const standing = early.has(subscriptionId) ? 'own' : members?.get(subscriptionId);
  if (standing === undefined || standing === 'own') return undefined;
  return {
    key: memberKeyOf(key, subscriptionId),
    acceptedAt,
    round: 1,
    lateResults: [],
    owed: [],
    recoveries: [],
    updatedAt,
    expiresAt,
    ...(standing === 'pending' ? begunIn(chunk) : endedBy(standing)),
  };
}

function begunIn({ lease }: Chunk) {
  return {
    status: 'pending',
    attempts: [],
    lost: lease === undefined ? 1 : 0,
    ...(lease === undefined ? {} : { lease }),
  } as const;
}

function endedBy(success: FirstSuccess) {
  return { status: 'delivered', attempts: [attemptOf(success)], lost: 0 } as const;
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

/** The first success that this transition of a pending member records; undefined: it needs a record of its own. */
export function firstSuccessOf(transition: Transition): FirstSuccess | undefined {
  const attempt = 'change' in transition ? transition.change.appendAttempt : undefined;
  if (attempt === undefined || !isPlain(attempt)) return undefined;
  const { startedAt, durationMs, statusCode, snippet } = attempt;
  return {
    startedAt,
    durationMs,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(snippet === undefined ? {} : { snippet: beginningOf(snippet) }),
  };
}

/** Bytes. With as much of each answer ten members stay below the kilobyte by which DynamoDB charges a write. */
export const MOST_SNIPPET = 24;

function beginningOf(snippet: string): string {
  let beginning = '';
  for (const character of snippet) {
    if (Buffer.byteLength(beginning + character) > MOST_SNIPPET) break;
    beginning += character;
  }
  return beginning;
}

const SAID: ReadonlySet<string> = new Set<keyof Attempt>([
  'number',
  'round',
  'phase',
  'outcome',
  'startedAt',
  'durationMs',
  'statusCode',
  'snippet',
]);

function isPlain(attempt: Attempt): boolean {
  return (
    attempt.number === 1 &&
    attempt.round === 1 &&
    attempt.phase === 'initial' &&
    attempt.outcome === 'delivered' &&
    Object.keys(attempt).every((name) => SAID.has(name))
  );
}
