import type { ApiClient } from '../../api-client/api-client.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { DeadLetter } from '../../shared/domain/delivery/dead-letter.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { DeadLetterDetail, DeadLetterView } from '../../shared/wire/views/console.ts';
import { failureText } from '../failure-report.ts';
import { DEAD_LETTERS_OF } from './dead-letter-access.ts';
import { describeDeadLetter, toDeadLetterDetail } from './describe.ts';
import { type DeadLetterPorts, processDeadLetters, type RunResult } from './process-dead-letters.ts';
import { hiddenFields, hiddenSentence } from './run-text.ts';
import { statesSince } from './undeliverable.ts';

/** Which dead letters to show or to change. Ids and subscriptions may be given by the beginning of their id. */
export type DeadLetterFilter = {
  queue?: string | undefined;
  subscription?: string | undefined;
  /** `none`: SQS moved the message. A reason without its detail includes all of its details. */
  reason?: string | undefined;
  id?: readonly string[] | undefined;
};

/** Shown and given in place of a missing reason. */
export const NO_REASON = 'none';

/** Length of an SQS message id, a UUID. */
const WHOLE_ID = 36;

/** Whether a dead letter passes; undefined if all do. */
export function createMatcher(
  which: RedrivenQueue,
  { id, ...others }: DeadLetterFilter,
): ((deadLetter: DeadLetter) => boolean) | undefined {
  const saysMore = Object.values(others).some((value) => value !== undefined);
  if (!saysMore && id === undefined) return undefined;
  // There may be many whole ids.
  const whole = new Set(id);
  const starts = id?.filter(({ length }) => length < WHOLE_ID) ?? [''];
  return (deadLetter) =>
    (whole.has(deadLetter.id) || starts.some((start) => deadLetter.id.startsWith(start))) &&
    (!saysMore || passes(describeDeadLetter(which, deadLetter), others));
}

function passes(
  { reason: actual = NO_REASON, ...view }: DeadLetterView,
  { queue, subscription, reason }: Omit<DeadLetterFilter, 'id'>,
): boolean {
  return (
    (queue === undefined || view.queue === queue) &&
    (reason === undefined || actual === reason || actual.startsWith(`${reason}:`)) &&
    (subscription === undefined || view.subscriptionIds.some((one) => one.startsWith(subscription)))
  );
}

/** A crash of a look hides what it held for so long. */
const HIDDEN_SECONDS = 60;

/** A look ends before its first messages would be visible again. */
const MAX_MS = 40_000;

type LookRequest = {
  which: RedrivenQueue;
  filter?: DeadLetterFilter;
  /** Milliseconds since the epoch. */
  since?: number | undefined;
  limit?: number | undefined;
  signal: AbortSignal;
  /** Reads what became of the deliveries of notices. */
  api?: ApiClient | undefined;
};

/** `isInterrupted`: by the caller's signal. */
export type Look<Item = DeadLetterView> = {
  items: Item[];
  result: RunResult;
  isInterrupted: boolean;
  /** Why the states of deliveries are missing. */
  statesProblem?: string;
};

/**
 * Reads dead letters without their bodies. Changes nothing: each is visible again at the end, also after an error or an
 * abort.
 * @throws RunFailedError
 */
export async function lookAtDeadLetters(ports: DeadLetterPorts, request: LookRequest): Promise<Look> {
  const { which, api } = request;
  let statesProblem: string | undefined;
  const describeAll = async (deadLetters: readonly DeadLetter[]): Promise<DeadLetterView[]> => {
    const views = deadLetters.map((deadLetter) => describeDeadLetter(which, deadLetter));
    if (which !== 'undeliverable' || api === undefined || statesProblem !== undefined) return views;
    try {
      const states = await statesSince(api, deadLetters);
      return views.map((view, index) => ({ ...view, ...(states[index] && { state: states[index] }) }));
    } catch (error) {
      statesProblem = failureText(error);
      return views;
    }
  };
  const look = await lookThrough(ports, request, describeAll);
  return { ...look, ...(statesProblem !== undefined && { statesProblem }) };
}

/** The same for other values than views. */
async function lookThrough<Item>(
  ports: DeadLetterPorts,
  { which, filter = {}, since, limit, signal }: Omit<LookRequest, 'api'>,
  describeAll: (deadLetters: readonly DeadLetter[]) => readonly Item[] | Promise<readonly Item[]>,
): Promise<Look<Item>> {
  const items: Item[] = [];
  const result = await processDeadLetters(ports, {
    startedAt: Infinity,
    keep: true,
    hiddenSeconds: HIDDEN_SECONDS,
    signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]),
    wants: createMatcher(which, filter),
    since,
    limit,
    read: (deadLetter) => ({ kind: 'redrive', message: deadLetter, identity: deadLetter.id }),
    handle: async (deadLetters) => {
      items.push(...(await describeAll(deadLetters)));
      return deadLetters.map(() => ({ kind: 'redriven' }));
    },
  });
  return { items, result, isInterrupted: result.end === 'interrupted' && signal.aborted };
}

/** No visible dead letter, or several, have the given id. */
export class NoSuchDeadLetter extends Problem {}

/**
 * The filter with whole ids in place of their beginnings.
 * @throws NoSuchDeadLetter for a beginning that no dead letter has, or several
 */
export async function withWholeIds(
  ports: DeadLetterPorts,
  which: RedrivenQueue,
  filter: DeadLetterFilter,
  signal: AbortSignal,
): Promise<DeadLetterFilter> {
  const { id: starts } = filter;
  if (starts === undefined || starts.every(({ length }) => length >= WHOLE_ID)) return filter;
  const request = { which, filter: { id: starts }, signal };
  const { items, result } = await lookThrough(ports, request, (all) => all.map(({ id }) => ({ id })));
  return { ...filter, id: starts.map((start) => onlyOne(items, which, start, result.hidden).id) };
}

/**
 * A whole dead letter by the beginning of its id.
 * @throws NoSuchDeadLetter if there is none, or several
 */
export async function findDeadLetter(
  ports: DeadLetterPorts,
  which: RedrivenQueue,
  start: string,
  signal: AbortSignal,
): Promise<DeadLetterDetail> {
  const request = { which, filter: { id: [start] }, limit: start.length >= WHOLE_ID ? 1 : 2, signal };
  const { items, result } = await lookThrough(ports, request, (deadLetters) =>
    deadLetters.map((deadLetter) => toDeadLetterDetail(which, deadLetter)),
  );
  signal.throwIfAborted();
  return onlyOne(items, which, start, result.hidden);
}

function onlyOne<Item extends { id: string }>(
  items: readonly Item[],
  which: RedrivenQueue,
  start: string,
  hidden: number,
): Item {
  const [first, second] = items.filter(({ id }) => id.startsWith(start));
  if (first === undefined) {
    const none = `None of the ${DEAD_LETTERS_OF[which]} has an id that starts with ${start}.`;
    throw new NoSuchDeadLetter(
      [none, hiddenSentence(hiddenFields(hidden, Date.now())) ?? []].flat().join(' '),
    );
  }
  if (second !== undefined)
    throw new NoSuchDeadLetter(
      `Several ${DEAD_LETTERS_OF[which]} have ids that start with ${start}, such as ${first.id} and ${second.id}. Give more of the id.`,
    );
  return first;
}
