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

export type BringBackPorts<Message> = Pick<RedrivePorts, 'deadLetters' | 'clock'> & {
  /** One answer for each, in order. @throws when it does not work at all; it can be repeated. */
  bringBack: (messages: readonly Message[]) => Promise<readonly RedriveOutcome[]>;
};

export type RedriveOrder<Message = RedrivenMessage> = {
  read: (letter: DeadLetter) => DeadLetterReading<Message>;
  /** Letters sent later are left: some of them are those that this run sent back, and that failed again. */
  startedAt: number;
  /** Letters sent earlier are left. */
  since?: number;
  /** How many are sent back at most. */
  limit?: number;
  /** Aborted: the batch at hand is finished, no other is begun. */
  signal: AbortSignal;
  onProgress: (tally: RedriveTally) => void;
};

export type RedriveTally = {
  redriven: number;
  /** Left because bringing them back would do no good: how many, by reason. */
  skipped: Readonly<Record<string, number>>;
  /** Removed because nothing was left to do about them: how many, by reason. Absent if there are none. */
  settled?: Readonly<Record<string, number>>;
  /** Left for another reason, as far as they were looked at. */
  left: number;
};

/** `crowded`: so many are left that SQS would not show what is behind them. */
export type RedriveEnd = 'emptied' | 'limit_reached' | 'interrupted' | 'crowded';

/** `left` is what the queue still holds beside the skipped ones: exact when it was emptied, else SQS's own estimate. */
export type RedriveResult = RedriveTally & { end: RedriveEnd };

/** The run broke off. What it had redriven stays redriven; a repeat goes on with the rest. */
export class RedriveFailedError extends Error {
  override readonly name = 'RedriveFailedError';
  readonly redriven: number;
  /** What stopped it, and then what kept the letters that it held from being released. */
  readonly causes: readonly unknown[];

  constructor(redriven: number, causes: readonly unknown[]) {
    super(`The redrive broke off after ${redriven} messages.`, { cause: causes[0] });
    this.redriven = redriven;
    this.causes = causes;
  }
}

/** Letters worked on together, and so the most that a crash sends twice. Five times what SQS hands out at once. */
const AT_ONCE = 50;

/** SQS overlooks letters now and then, so one empty answer does not count. Seconds between them. */
const EMPTY_POLLS = 3;
const POLLING = { floor: 0.5, ceiling: 2 };

/** SQS shows no more once 120,000 messages of a queue are held ("Amazon SQS message quotas"). */
const MOST_HELD = 100_000;

type Tally = { redriven: number; skipped: Map<string, number>; settled: Map<string, number> };

type Run<Message> = Tally & {
  ports: BringBackPorts<Message>;
  order: RedriveOrder<Message>;
  /**
   * Letters to be left, held until the end so that the queue shows others, by id. The receipt is that of the last
   * receive: a letter comes again when the time for which it was held is over.
   */
  held: Map<string, ReceivedDeadLetter>;
  /** Of what was redriven. A letter that fails again is left, even where this clock and that of SQS disagree. */
  identities: Set<string>;
};

/**
 * Sends dead letters back where they came from. A letter is sent first and removed then: a crash in between sends it
 * twice, and claims make the copy harmless. Nothing is sent back twice in one run, so it ends whatever fails again.
 * @throws RedriveFailedError
 */
export function redrive({ workQueues, ...ports }: RedrivePorts, order: RedriveOrder): Promise<RedriveResult> {
  const bringBack = async (messages: readonly RedrivenMessage[]): Promise<RedriveOutcome[]> => {
    await workQueues.send(messages);
    return messages.map(() => ({ kind: 'redriven' }));
  };
  return redriveBy({ ...ports, bringBack }, order);
}

/**
 * The same, whatever it takes to bring a letter back.
 * @throws RedriveFailedError
 */
export async function redriveBy<Message>(
  ports: BringBackPorts<Message>,
  order: RedriveOrder<Message>,
): Promise<RedriveResult> {
  const run: Run<Message> = {
    ports,
    order,
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
  const result = await runToTheEnd(run).catch(failed);
  await ports.deadLetters.release([...run.held.values()]).catch(failed);
  if (result === undefined || failures.length > 0) throw new RedriveFailedError(run.redriven, failures);
  return result;
}

async function runToTheEnd<Message>(run: Run<Message>): Promise<RedriveResult> {
  const end = await workOff(run);
  const tally = tallyOf(run);
  if (end === 'emptied') return { ...tally, end };
  const uncounted = (await run.ports.deadLetters.count()) - run.held.size;
  return { ...tally, left: tally.left + Math.max(0, uncounted), end };
}

async function workOff<Message>(run: Run<Message>): Promise<RedriveEnd> {
  const { ports, order } = run;
  let interval = pollInterval(POLLING);
  for (let empty = 0; empty < EMPTY_POLLS;) {
    if (order.signal.aborted) return 'interrupted';
    const room = (order.limit ?? Infinity) - run.redriven;
    if (room <= 0) return 'limit_reached';
    if (run.held.size >= MOST_HELD) return 'crowded';
    const letters = await ports.deadLetters.receive(Math.min(AT_ONCE, room));
    if (await sortOut(run, letters)) {
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

/** Whether any of the letters was new. */
async function sortOut<Message>(run: Run<Message>, letters: readonly DeadLetter[]): Promise<boolean> {
  const fresh = letters.filter(({ id }) => !run.held.has(id));
  const taken: { letter: DeadLetter; message: Message }[] = [];
  for (const letter of letters) {
    // Until it is removed, a letter that is to go is held like those that are to stay: a failure releases it.
    run.held.set(letter.id, { id: letter.id, receipt: letter.receipt });
  }
  for (const letter of fresh) {
    const message = judge(run, letter);
    if (message !== undefined) taken.push({ letter, message });
  }
  if (taken.length > 0) await sendBack(run, taken);
  if (fresh.length > 0) run.order.onProgress(tallyOf(run));
  return fresh.length > 0;
}

/** Undefined: the letter stays. */
function judge<Message>(run: Run<Message>, letter: DeadLetter): Message | undefined {
  const { startedAt, since = -Infinity, read } = run.order;
  if (letter.sentAt > startedAt || letter.sentAt < since) return undefined;
  const reading = read(letter);
  if (reading.kind === 'skip') {
    count(run.skipped, reading.reason);
    return undefined;
  }
  if (run.identities.has(reading.identity)) return undefined;
  run.identities.add(reading.identity);
  return reading.message;
}

async function sendBack<Message>(
  run: Run<Message>,
  taken: readonly { letter: DeadLetter; message: Message }[],
): Promise<void> {
  const results = await run.ports.bringBack(taken.map(({ message }) => message));
  const removed: DeadLetter[] = [];
  for (const [index, { letter }] of taken.entries()) {
    const result = results[index];
    if (result === undefined) throw new TypeError(`no word of the letter ${letter.id}`);
    if (result.kind === 'refused') count(run.skipped, result.reason);
    else removed.push(letter);
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
