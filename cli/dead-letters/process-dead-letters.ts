import { sumOfCounts } from '../../shared/domain/delivery/books.ts';
import type {
  DeadLetter,
  DeadLetterReading,
  ReceivedDeadLetter,
  RedriveOutcome,
} from '../../shared/domain/delivery/dead-letter.ts';
import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeadLetterCounts, DeadLetterQueue } from '../../shared/ports/queues.ts';

export type Tally = {
  handled: number;
  /** Left in the queue because it would not help to handle them: counts by reason. */
  skipped: Readonly<Record<string, number>>;
  /** Removed because nothing remains to be done: counts by reason. Absent if there are none. */
  settled?: Readonly<Record<string, number>>;
  /** Left in the queue for other reasons, among those received. */
  left: number;
};

/** `crowded`: this run holds so many dead letters that SQS would return no further ones. */
export type RunEnd = 'emptied' | 'limit_reached' | 'interrupted' | 'crowded';

/**
 * `left`: messages that remain besides the skipped ones. Exact if `end` is `emptied`, otherwise an estimate of SQS.
 * `hidden`: about how many of the messages another program held, so that this run could not see them. `total`: about
 * how many the queue had.
 */
export type RunResult = Tally & { end: RunEnd; hidden: number; total: number };

/** The run stopped with an error. Handled messages stay handled; another run continues with the rest. */
export class RunFailedError extends Error {
  override readonly name = 'RunFailedError';
  readonly handled: number;
  /** The error that stopped the run, and an error of releasing the held dead letters, if any. */
  readonly causes: readonly unknown[];

  constructor(handled: number, causes: readonly unknown[]) {
    super('The run over the dead letters stopped.', { cause: causes[0] });
    this.handled = handled;
    this.causes = causes;
  }
}

export type DeadLetterPorts = { deadLetters: DeadLetterQueue; clock: Pick<Clock, 'sleep'> };

export type DeadLetterRequest<Message> = {
  read: (deadLetter: DeadLetter) => DeadLetterReading<Message>;
  /** Returns one outcome per message, in order. Safe to repeat after an error. */
  handle: (messages: readonly Message[]) => Promise<readonly RedriveOutcome[]>;
  /** Leaves the others. @default all */
  wants?: ((deadLetter: DeadLetter) => boolean) | undefined;
  /** Milliseconds since the epoch. Leaves dead letters sent later: they may be messages of this run that failed again. */
  startedAt: number;
  /** Leaves dead letters sent earlier. */
  since?: number | undefined;
  /** Maximum number of messages to handle. */
  limit?: number | undefined;
  /** Changes nothing: handled dead letters stay in the queue. */
  keep?: boolean;
  /** Seconds for which a received dead letter stays hidden after a crash. @default HIDDEN_SECONDS */
  hiddenSeconds?: number;
  /** When aborted, the current batch is completed and no further one starts. */
  signal?: AbortSignal;
  onProgress?: (tally: Tally) => void;
};

/** Far above the time to send 50 dead letters with every request retried. */
export const HIDDEN_SECONDS = 300;

/** Batch size, and so the most messages that a crash can send twice. Five times an SQS receive. */
const MAX_TOGETHER = 50;
const ONE_REQUEST = 10;

/** Empty receives after which the queue counts as empty: SQS sometimes misses messages. `POLLING` is in seconds. */
const EMPTY_POLLS = 3;
const POLLING = { floor: 0.5, ceiling: 2 };

/** SQS returns no further messages once 120,000 of a queue are in flight ("Amazon SQS message quotas"). */
const MAX_HELD = 100_000;

type Run<Message> = {
  ports: DeadLetterPorts;
  request: DeadLetterRequest<Message>;
  before: DeadLetterCounts;
  handled: number;
  skipped: Record<string, number>;
  settled: Record<string, number>;
  /**
   * Dead letters to leave, by id; held until the end so that SQS returns others. Keeps the latest receipt, because a
   * message is received again after its visibility timeout.
   */
  held: Map<string, ReceivedDeadLetter>;
  /** Ids of all received dead letters. */
  seen: Set<string>;
  /** How many of these were sent before the start. */
  earlier: number;
  /** Identities of handled messages. One that fails again is left, even if this clock and the one of SQS differ. */
  identities: Set<string>;
};

/**
 * Hands the dead letters of a queue to `handle`, batch by batch, and removes them unless `keep` is set. Each is handled
 * before it is removed: after a crash in between, another run handles it again. A message is handled once per run, so the
 * run ends even if messages fail again. All others are visible again at the end, also after an error or an abort.
 * @throws RunFailedError
 */
export async function processDeadLetters<Message>(
  ports: DeadLetterPorts,
  request: DeadLetterRequest<Message>,
): Promise<RunResult> {
  const run: Run<Message> = {
    ports,
    request,
    before: await ports.deadLetters.counts(),
    handled: 0,
    skipped: {},
    settled: {},
    held: new Map(),
    seen: new Set(),
    earlier: 0,
    identities: new Set(),
  };
  const failures: unknown[] = [];
  const failed = (cause: unknown): void => {
    failures.push(cause);
  };
  const end = await drainQueue(run).catch(failed);
  await ports.deadLetters.release([...run.held.values()]).catch(failed);
  const after = await ports.deadLetters.counts().catch(failed);
  if (end === undefined || after === undefined || failures.length > 0)
    throw new RunFailedError(run.handled, failures);
  return buildResult(run, end, after);
}

/**
 * The counts lag, and may still include what this run held: a message that it received does not count as hidden. One
 * that another program received since the start does.
 */
function buildResult<Message>(run: Run<Message>, end: RunEnd, after: DeadLetterCounts): RunResult {
  const { before, held, seen } = run;
  const tally = tallyRun(run);
  const total = Math.max(before.visible + before.hidden, seen.size);
  if (end === 'emptied') return { ...tally, end, total, hidden: Math.min(after.hidden, total - seen.size) };
  const unseen = Math.max(0, after.visible + after.hidden - held.size);
  return { ...tally, left: tally.left + unseen, end, total, hidden: 0 };
}

async function drainQueue<Message>(run: Run<Message>): Promise<RunEnd> {
  const { ports } = run;
  let interval = pollInterval(POLLING);
  for (let empty = 0; empty < EMPTY_POLLS;) {
    const end = earlyEnd(run);
    if (end !== undefined) return end;
    if (await processBatch(run, await receiveSome(run))) {
      empty = 0;
      interval = interval.afterMessage();
      continue;
    }
    if (await isCountedEmpty(run)) return 'emptied';
    empty += 1;
    if (empty < EMPTY_POLLS) await ports.clock.sleep(interval.wait * 1000);
    interval = interval.afterEmpty();
  }
  return 'emptied';
}

/** Why a run ends before its queue is empty; undefined if it goes on. */
function earlyEnd<Message>({ request, handled, held }: Run<Message>): RunEnd | undefined {
  if (request.signal?.aborted === true) return 'interrupted';
  if (handled >= (request.limit ?? Infinity)) return 'limit_reached';
  return held.size >= MAX_HELD ? 'crowded' : undefined;
}

/**
 * A receive takes as long as its slowest request, and a request that finds nothing waits: asks for few where SQS counts
 * few. With a filter the limit says nothing about how many to receive.
 */
function receiveSome<Message>(run: Run<Message>): Promise<readonly DeadLetter[]> {
  const { ports, request, handled, before, seen } = run;
  const { limit = Infinity, hiddenSeconds = HIDDEN_SECONDS, wants } = request;
  const counted = before.visible + before.hidden - seen.size;
  const most = counted > 0 ? Math.min(MAX_TOGETHER, Math.max(counted, ONE_REQUEST)) : MAX_TOGETHER;
  return ports.deadLetters.receive(
    wants === undefined ? Math.min(most, limit - handled) : most,
    hiddenSeconds,
  );
}

/**
 * Spares further receives after one that found nothing, if this run has seen all that SQS counted at its start, and SQS
 * counts no other message now.
 */
async function isCountedEmpty<Message>({ ports, before, seen, held }: Run<Message>): Promise<boolean> {
  if (before.visible + before.hidden > seen.size) return false;
  const { visible, hidden } = await ports.deadLetters.counts();
  return visible === 0 && hidden <= held.size;
}

/**
 * Handles the new dead letters of a batch. True if there may be more. Those that arrive meanwhile do not count once the run
 * has seen as many as there were: while deliveries keep failing, it would not end.
 */
async function processBatch<Message>(run: Run<Message>, received: readonly DeadLetter[]): Promise<boolean> {
  const fresh = received.filter(({ id }) => !run.seen.has(id));
  for (const { id, receipt } of received) {
    run.seen.add(id);
    // Held until removed, so that a failure releases it together with those that stay.
    run.held.set(id, { id, receipt });
  }
  if (fresh.length === 0) return false;
  const earlier = fresh.filter(({ sentAt }) => sentAt <= run.request.startedAt).length;
  run.earlier += earlier;
  const taken = takeFrom(run, fresh);
  if (taken.length > 0) await handleBatch(run, taken);
  run.request.onProgress?.(tallyRun(run));
  return earlier > 0 || run.earlier < run.before.visible + run.before.hidden;
}

type Taken<Message> = { deadLetter: DeadLetter; message: Message };

/** Those to handle, up to the limit. */
function takeFrom<Message>(run: Run<Message>, fresh: readonly DeadLetter[]): Taken<Message>[] {
  const room = (run.request.limit ?? Infinity) - run.handled;
  const taken: Taken<Message>[] = [];
  for (const deadLetter of fresh) {
    const message = taken.length < room ? selectMessage(run, deadLetter) : undefined;
    if (message !== undefined) taken.push({ deadLetter, message });
  }
  return taken;
}

/** The message to handle; undefined if the dead letter stays. */
function selectMessage<Message>(run: Run<Message>, deadLetter: DeadLetter): Message | undefined {
  const { startedAt, since = -Infinity, wants, read } = run.request;
  if (deadLetter.sentAt > startedAt || deadLetter.sentAt < since) return undefined;
  if (wants?.(deadLetter) === false) return undefined;
  const reading = read(deadLetter);
  if (reading.kind === 'skip') {
    count(run.skipped, reading.reason);
    return undefined;
  }
  if (run.identities.has(reading.identity)) return undefined;
  run.identities.add(reading.identity);
  return reading.message;
}

async function handleBatch<Message>(run: Run<Message>, taken: readonly Taken<Message>[]): Promise<void> {
  const results = await run.request.handle(taken.map(({ message }) => message));
  const removed: DeadLetter[] = [];
  for (const [index, { deadLetter }] of taken.entries()) {
    const result = results[index];
    if (result === undefined) throw new TypeError(`no outcome for the dead letter ${deadLetter.id}`);
    if (result.kind === 'refused') count(run.skipped, result.reason);
    else removed.push(deadLetter);
    if (result.kind === 'settled') count(run.settled, result.reason);
  }
  if (removed.length > 0 && run.request.keep !== true) {
    await run.ports.deadLetters.remove(removed);
    for (const { id } of removed) run.held.delete(id);
  }
  run.handled += results.filter(({ kind }) => kind === 'redriven').length;
}

function count(reasons: Record<string, number>, reason: string): void {
  reasons[reason] = (reasons[reason] ?? 0) + 1;
}

function tallyRun<Message>({ request, handled, held, ...run }: Run<Message>): Tally {
  const [skipped, settled] = [{ ...run.skipped }, { ...run.settled }];
  const kept = request.keep === true ? handled + sumOfCounts(settled) : 0;
  const left = held.size - sumOfCounts(skipped) - kept;
  return { handled, skipped, ...(sumOfCounts(settled) > 0 && { settled }), left };
}
