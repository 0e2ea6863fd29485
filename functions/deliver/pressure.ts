import { LRUCache } from 'lru-cache';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import {
  toPressureSignal,
  ADD_EVERY_MS,
  countingStep,
  isOutdated,
  NO_COUNTS,
  type ReceiverCounts,
  sumOfCounts,
} from '../../shared/domain/subscription/back-pressure.ts';
import {
  afterRequest,
  afterWindow,
  countedAs,
  endOfPressure,
  type PressureChange,
} from '../../shared/domain/subscription/pressure-changes.ts';
import type { Pressure, Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { choosePaceSwitches, isSwitchedOn } from '../../shared/domain/subscription/switches.ts';
import type { DeliverContext, PendingCounts } from './context.ts';
import type { AttemptResult } from './send.ts';

/** A recorded attempt. */
export type RecordedAttempt = {
  queue: Queue | undefined;
  subscription: Subscription;
  result: AttemptResult;
};

/** How an attempt changes the pressure of its subscription (docs/retry-policy.md#back-pressure). Undefined: not at all. */
export async function pressureChangeAfter(
  context: DeliverContext,
  recorded: RecordedAttempt,
): Promise<PressureChange | undefined> {
  const { subscription, result } = recorded;
  const { pressure } = subscription;
  const now = context.ports.clock.now();
  const switches = choosePaceSwitches(recorded, context.settings);
  if (pressure !== undefined && !isSwitchedOn(pressure, switches)) return endOfPressure(subscription, now);
  const signal = toPressureSignal(result.reply);
  const change = afterRequest(subscription, signal, switches, now);
  if (change !== 'count') return change;
  if (pressure === undefined || signal === undefined) return undefined;
  const counts = countAnswers(result.attempt, countedAs(signal, switches));
  // Counted from when all instances count. Before, one may use a cached subscription, and not know that it is to count.
  const elapsedMs = result.attempt.startedAt - pressure.at - context.settings.subscriptionCacheMs;
  const watched = { ...subscription, pressure };
  if (isOutdated(elapsedMs)) return endOfPressure(subscription, now);
  const window = await windowToJudge(context, watched, counts, elapsedMs);
  return window && afterWindow(watched, { ...window, elapsedMs }, switches, now);
}

function countAnswers(
  { by }: Pick<Attempt, 'by'>,
  { refused, down }: { refused: boolean; down: boolean },
): ReceiverCounts {
  return {
    deliveries: by === 'same_invocation' ? 0 : 1,
    requests: 1,
    answered: refused || down ? 0 : 1,
    refused: refused ? 1 : 0,
    down: down ? 1 : 0,
  };
}

/** Adds the counts to those of the other instances. Returns the sum if the window is to be judged now. */
async function windowToJudge(
  { ports, pendingCounts }: DeliverContext,
  { queue, id, pressure }: Subscription & { pressure: Pressure },
  counts: ReceiverCounts,
  elapsedMs: number,
): Promise<ReceiverCounts | undefined> {
  if (elapsedMs < 0) return undefined;
  const { clock, countingWindows } = ports;
  const key = { queue, subscriptionId: id };
  const mine = pendingCounts.of(key, pressure.at);
  mine.counts = sumOfCounts(mine.counts, counts);
  if (clock.now() - mine.triedAt < ADD_EVERY_MS) return undefined;
  mine.triedAt = clock.now();
  const found = await countingWindows.find(key);
  const pending = mine.counts;
  switch (countingStep(found, pressure.at, pending, elapsedMs)) {
    case 'judge':
      return found?.version === pressure.at ? sumOfCounts(found, pending) : pending;
    case 'add':
      mine.counts = NO_COUNTS;
      await countingWindows.add(key, pressure.at, pending);
      return undefined;
    case 'keep':
      return undefined;
    case 'drop':
      mine.counts = NO_COUNTS;
      return undefined;
  }
}

/** Subscriptions whose counts an instance remembers. */
const MAX_SUBSCRIPTIONS = 10_000;

/** The counts that one function instance has not added yet. */
export function pendingCounts(): PendingCounts {
  type Pending = ReturnType<PendingCounts['of']> & { version: number };
  // A `max` would allocate the arrays for all of them at once, though most instances never count.
  const bySubscription = new LRUCache<string, Pending>({
    maxSize: MAX_SUBSCRIPTIONS,
    sizeCalculation: () => 1,
  });
  return {
    of: ({ queue, subscriptionId }, version) => {
      const name = `${queue}/${subscriptionId}`;
      const known = bySubscription.get(name);
      if (known !== undefined && known.version >= version) return known;
      const begun = { version, counts: NO_COUNTS, triedAt: known?.triedAt ?? -Infinity };
      bySubscription.set(name, begun);
      return begun;
    },
  };
}
