import type {
  DeadLetter,
  DeadLetterReading,
  RedriveOutcome,
  ReceivedDeadLetter,
  RedrivenMessage,
} from '../../../shared/domain/delivery/dead-letter.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { DeadLetterQueue, WorkQueues } from '../../../shared/ports/queues.ts';

export type RedrivePorts = {
  deadLetters: DeadLetterQueue;
  workQueues: WorkQueues;
  clock: Pick<Clock, 'sleep'>;
};

export type RedriveByPorts<Message> = Pick<RedrivePorts, 'deadLetters' | 'clock'> & {
  /** Returns one outcome per message, in order. Safe to repeat after an error. */
  redriveMessages: (messages: readonly Message[]) => Promise<readonly RedriveOutcome[]>;
};

export type RedriveRequest<Message = RedrivenMessage> = {
  read: (deadLetter: DeadLetter) => DeadLetterReading<Message>;
  /** Milliseconds since the epoch. Leaves dead letters sent later: they may be messages of this run that failed again. */
  startedAt: number;
  /** Leaves dead letters sent earlier. */
  since?: number;
  /** Maximum number of messages to redrive. */
  limit?: number;
  /** When aborted, the current batch is completed and no further one starts. */
  signal: AbortSignal;
  onProgress: (tally: RedriveTally) => void;
};

export type RedriveTally = {
  redriven: number;
  /** Left in the queue because a redrive would not help: counts by reason. */
  skipped: Readonly<Record<string, number>>;
  /** Removed because nothing remains to be done: counts by reason. Absent if there are none. */
  settled?: Readonly<Record<string, number>>;
  /** Left in the queue for other reasons, among those received. */
  left: number;
};

/** `crowded`: this run holds so many dead letters that SQS would return no further ones. */
export type RedriveEnd = 'emptied' | 'limit_reached' | 'interrupted' | 'crowded';

/** `left`: messages that remain besides the skipped ones. Exact if `end` is `emptied`, otherwise an estimate of SQS. */
export type RedriveResult = RedriveTally & { end: RedriveEnd };

/** The run stopped with an error. Messages already redriven stay redriven; another run continues with the rest. */
export class RedriveFailedError extends Error {
  override readonly name = 'RedriveFailedError';
  readonly redriven: number;
  /** The error that stopped the run, and an error of releasing the held dead letters, if any. */
  readonly causes: readonly unknown[];

  constructor(redriven: number, causes: readonly unknown[]) {
    super(`The redrive stopped after ${redriven} messages.`, { cause: causes[0] });
    this.redriven = redriven;
    this.causes = causes;
  }
}

/** Batch size, and so the most messages that a crash can send twice. Five times an SQS receive. */
const AT_ONCE = 50;

/** Empty receives after which the queue counts as empty: SQS sometimes misses messages. `POLLING` is in seconds. */
const EMPTY_POLLS = 3;
const POLLING = { floor: 0.5, ceiling: 2 };

/** SQS returns no further messages once 120,000 of a queue are in flight ("Amazon SQS message quotas"). */
const MOST_HELD = 100_000;

type Tally = { redriven: number; skipped: Map<string, number>; settled: Map<string, number> };

type Run<Message> = Tally & {
  ports: RedriveByPorts<Message>;
  request: RedriveRequest<Message>;
  /**
   * Dead letters to leave, by id; held until the end so that SQS returns others. Keeps the latest receipt, because a
   * message is received again after its visibility timeout.
   */
  held: Map<string, ReceivedDeadLetter>;
  /** Identities of redriven messages. One that fails again is left, even if this clock and the one of SQS differ. */
  identities: Set<string>;
};

/**
 * Sends dead letters back to their queues. Each is sent before it is removed: a crash in between sends it twice, and
 * claims make the copy harmless. A message is redriven once per run, so the run ends even if messages fail again.
 * @throws RedriveFailedError
 */
export function redrive(
  { workQueues, ...ports }: RedrivePorts,
  request: RedriveRequest,
): Promise<RedriveResult> {
  const redriveMessages = async (messages: readonly RedrivenMessage[]): Promise<RedriveOutcome[]> => {
    await workQueues.send(messages);
    return messages.map(() => ({ kind: 'redriven' }));
  };
  return redriveBy({ ...ports, redriveMessages }, request);
}

/**
 * Redrives a dead-letter queue by the given `redriveMessages`.
 * @throws RedriveFailedError
 */
export async function redriveBy<Message>(
  ports: RedriveByPorts<Message>,
  request: RedriveRequest<Message>,
): Promise<RedriveResult> {
  const run: Run<Message> = {
    ports,
    request,
    redriven: 0,
    skipped: new Map(),
    settled: new Map(),
    held: new Map(),
    identities: new Set(),
  };
  const failures: unknown[] = [];
  const failed = (cause: unknown): void => {
    failures.push(cause);
  };
  const result = await runUntilEnd(run).catch(failed);
  await ports.deadLetters.release([...run.held.values()]).catch(failed);
  if (result === undefined || failures.length > 0) throw new RedriveFailedError(run.redriven, failures);
  return result;
}

async function runUntilEnd<Message>(run: Run<Message>): Promise<RedriveResult> {
  const end = await drainQueue(run);
  const tally = tallyOf(run);
  if (end === 'emptied') return { ...tally, end };
  const uncounted = (await run.ports.deadLetters.count()) - run.held.size;
  return { ...tally, left: tally.left + Math.max(0, uncounted), end };
}

async function drainQueue<Message>(run: Run<Message>): Promise<RedriveEnd> {
  const { ports, request } = run;
  let interval = pollInterval(POLLING);
  for (let empty = 0; empty < EMPTY_POLLS;) {
    if (request.signal.aborted) return 'interrupted';
    const room = (request.limit ?? Infinity) - run.redriven;
    if (room <= 0) return 'limit_reached';
    if (run.held.size >= MOST_HELD) return 'crowded';
    const received = await ports.deadLetters.receive(Math.min(AT_ONCE, room));
    if (await processBatch(run, received)) {
      empty = 0;
      interval = interval.afterMessage();
      continue;
    }
    empty += 1;
    if (empty < EMPTY_POLLS) await ports.clock.sleep(interval.wait * 1000);
    interval = interval.afterEmpty();
  }
  return 'emptied';
}

/** Redrives the new dead letters of a batch. True if there were any. */
async function processBatch<Message>(run: Run<Message>, received: readonly DeadLetter[]): Promise<boolean> {
  const fresh = received.filter(({ id }) => !run.held.has(id));
  const taken: { deadLetter: DeadLetter; message: Message }[] = [];
  for (const deadLetter of received) {
    // Held until removed, so that a failure releases it together with those that stay.
    run.held.set(deadLetter.id, { id: deadLetter.id, receipt: deadLetter.receipt });
  }
  for (const deadLetter of fresh) {
    const message = messageToRedrive(run, deadLetter);
    if (message !== undefined) taken.push({ deadLetter, message });
  }
  if (taken.length > 0) await redriveBatch(run, taken);
  if (fresh.length > 0) run.request.onProgress(tallyOf(run));
  return fresh.length > 0;
}

/** The message to redrive; undefined if the dead letter stays. */
function messageToRedrive<Message>(run: Run<Message>, deadLetter: DeadLetter): Message | undefined {
  const { startedAt, since = -Infinity, read } = run.request;
  if (deadLetter.sentAt > startedAt || deadLetter.sentAt < since) return undefined;
  const reading = read(deadLetter);
  if (reading.kind === 'skip') {
    count(run.skipped, reading.reason);
    return undefined;
  }
  if (run.identities.has(reading.identity)) return undefined;
  run.identities.add(reading.identity);
  return reading.message;
}

async function redriveBatch<Message>(
  run: Run<Message>,
  taken: readonly { deadLetter: DeadLetter; message: Message }[],
): Promise<void> {
  const results = await run.ports.redriveMessages(taken.map(({ message }) => message));
  const removed: DeadLetter[] = [];
  for (const [index, { deadLetter }] of taken.entries()) {
    const result = results[index];
    if (result === undefined) throw new TypeError(`no outcome for the dead letter ${deadLetter.id}`);
    if (result.kind === 'refused') count(run.skipped, result.reason);
    else removed.push(deadLetter);
    if (result.kind === 'settled') count(run.settled, result.reason);
  }
  if (removed.length > 0) await run.ports.deadLetters.remove(removed);
  for (const { id } of removed) run.held.delete(id);
  run.redriven += results.filter(({ kind }) => kind === 'redriven').length;
}

function count(reasons: Map<string, number>, reason: string): void {
  reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
}

function tallyOf({
  redriven,
  skipped,
  settled,
  held,
}: Tally & { held: ReadonlyMap<string, ReceivedDeadLetter> }): RedriveTally {
  return {
    redriven,
    skipped: Object.fromEntries(skipped),
    ...(settled.size > 0 && { settled: Object.fromEntries(settled) }),
    left: held.size - skippedIn(skipped),
  };
}

function skippedIn(skipped: ReadonlyMap<string, number>): number {
  return [...skipped.values()].reduce((sum, count) => sum + count, 0);
}
