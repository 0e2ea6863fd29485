import type { PauseOperation } from '../../shared/domain/recovery/operation.ts';
import { cancelOpen } from '../../shared/domain/delivery/interventions.ts';
import {
  endWait,
  type EndableWait,
  isEndableWait,
  longestPauseMs,
  type WaitingPlace,
} from '../../shared/domain/delivery/paused.ts';
import { longestWaitMs } from '../../shared/domain/delivery/pull.ts';
import { computeSqsDelay, MAX_DELAY_SECONDS } from '../../shared/domain/delivery/wake-up-plan.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { MAX_INVOCATION_MS } from '../../shared/domain/retry/attempt-duration.ts';
import { asPull, type PullDestination } from '../../shared/domain/subscription/destination.ts';
import {
  DEFAULT_RESUME_PER_SECOND,
  judgePause,
  type JudgedPause,
  type Pause,
} from '../../shared/domain/subscription/pause.ts';
import { isPresent } from '../../shared/domain/subscription/subscription.ts';
import { notifyOperator } from '../../shared/steps/attempt-events.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { continueLater, type OperationRun, processItems, processPages, secondsUntil } from './context.ts';

/** Records that are read together, and deliveries between two looks at the pause. */
const PAGE = 100;
const MAX_TOGETHER = 1_000;

/**
 * How far ahead wake-ups are sent. Short: they are what a new pause meets, and all that waits in the retry queue. Longer
 * than the time from one message of this operation to the next.
 */
const AHEAD_MS = 60_000;

/** How soon a page of which nothing could be made due is read again. */
const READ_AGAIN_SECONDS = 2;

/**
 * When to look once more. By the first, what an invocation that saw the pause writes after its end is on record,
 * and usually in the index; by the second, also in an index that was minutes behind.
 */
const LOOK_AGAIN_SECONDS = [MAX_INVOCATION_MS / 1000 + 10, MAX_DELAY_SECONDS];

/**
 * During a pause, looks every quarter of an hour at what waits longest. After its end, makes what waits due in the order of
 * acceptance, at a limited rate. Ends where the pause has changed: a later operation does the rest.
 * @throws if a service fails: SQS redelivers the message
 */
export function endPause(run: OperationRun, operation: PauseOperation): Promise<void> {
  return processPages(run, operation, async (rest) => {
    const found = await findPauseOf(run, rest);
    switch (found.kind) {
      case 'superseded':
        return undefined;
      case 'unwritten':
        return lookAgain(run, rest);
      case 'in_force':
        return watch(run, rest, found);
      case 'ended':
        return found.pull === undefined ? drainPage(run, rest, found) : undefined;
    }
  });
}

/** `pull`: what waits is received, and reconcile ends waits that are too long. */
type Found = JudgedPause & { pull?: PullDestination | undefined; maxPerSecond?: number | undefined };

async function findPauseOf({ ports }: OperationRun, operation: PauseOperation): Promise<Found> {
  const { queue, subscriptionId, version } = operation;
  const now = ports.clock.now();
  if (subscriptionId === undefined) return judgePause(await ports.registry.findQueue(queue), version, now);
  const { subscription } = await ports.subscriptions.find(queue, subscriptionId, 'fresh');
  // What waits for a deleted or expired one is cancelled when it is due.
  const present = isPresent(subscription, now) ? subscription : undefined;
  return {
    ...judgePause(present, version, now),
    pull: present && asPull(present.destination),
    maxPerSecond: present?.options.max_per_second,
  };
}

async function lookAgain(run: OperationRun, operation: PauseOperation): Promise<undefined> {
  const { looks = 0 } = operation;
  const delaySeconds = LOOK_AGAIN_SECONDS[looks];
  if (delaySeconds !== undefined) await continueLater(run, { ...operation, looks: looks + 1 }, delaySeconds);
}

/** Ends waits that are too long, warns a day before, and looks again later. The rest, if there is more to look at now. */
async function watch(
  run: OperationRun,
  watched: PauseOperation,
  { pause, pull }: Extract<Found, { kind: 'in_force' }>,
): Promise<PauseOperation | undefined> {
  const { ports, settings } = run;
  const { looks: _looks, cursor: _cursor, ...operation } = watched;
  const now = ports.clock.now();
  if (pull === undefined && (await endLongWaits(run, operation, now - longestPauseMs(settings.retentionMs))))
    return watched;
  if (operation.warned !== true) {
    const { waits, marker } = await listWaits(run, watched, pull);
    if (await warnBeforeEnd(run, waits, pause)) operation.warned = true;
    else if (marker !== undefined) return { ...operation, cursor: marker };
  }
  return continueLater(run, operation, secondsUntil(pause.until ?? Infinity, now));
}

/** Deliveries that wait during a pause, and after how long they are cancelled. */
type PausedWait = { place: WaitingPlace; longestMs: number };

/** What waits during a pause. Of a queue also what its receivers by pull do not get, a page of subscriptions at a time. */
async function listWaits(
  { ports, settings: { retentionMs } }: OperationRun,
  operation: PauseOperation,
  pull: PullDestination | undefined,
): Promise<{ waits: readonly PausedWait[]; marker?: string }> {
  const { queue, subscriptionId, cursor } = operation;
  const pullMs = longestWaitMs(retentionMs);
  const own = {
    place: toPlace(operation),
    longestMs: pull === undefined ? longestPauseMs(retentionMs) : pullMs,
  };
  if (subscriptionId !== undefined) return { waits: [own] };
  const { items, ...next } = await ports.registry.listSubscriptions(queue, { limit: PAGE, marker: cursor });
  const pulls = items.filter(({ destination }) => asPull(destination) !== undefined);
  const places = pulls.map(({ id }) => ({ place: { queue, subscriptionId: id }, longestMs: pullMs }));
  return { waits: cursor === undefined ? [own, ...places] : places, ...next };
}

/** Cancels what has waited since `before`, before its record expires. Returns whether there may be more. */
async function endLongWaits(run: OperationRun, operation: PauseOperation, before: number): Promise<boolean> {
  const { ports } = run;
  const { waiting, isWhole } = await readWaiting(run, toPlace(operation), before, PAGE);
  const reason = 'paused_too_long';
  const { results } = await processItems(run, operation.kind, waiting, async (delivery) => {
    const written = await ports.deliveries.write(cancelOpen(delivery, reason, writeTime(run, delivery)));
    if (written.kind === 'written')
      ports.journal.note({ fact: 'delivery_cancelled', key: delivery.key, reason });
    return written.kind;
  });
  return !isWhole && results.includes('written');
}

/** Notifies the operator a day before the first wait ends. Returns whether it did. */
async function warnBeforeEnd(
  { ports }: OperationRun,
  waits: readonly PausedWait[],
  pause: Pause,
): Promise<boolean> {
  for (const { place, longestMs } of waits) {
    const [oldest] = await ports.deliveries.waiting(place, ports.clock.now() - longestMs + DAY_MS, 1);
    if (oldest === undefined) continue;
    const cancelledFrom = oldest.overdueAt + longestMs;
    await notifyOperator(ports, { type: 'deliveries.expiring', ...place, since: pause.from, cancelledFrom });
    return true;
  }
  return false;
}

/** Makes a page of what waits due, each at its time. The rest; undefined: another message continues, or nothing waits. */
async function drainPage(
  run: OperationRun,
  operation: PauseOperation,
  ended: Extract<Found, { kind: 'ended' }>,
): Promise<PauseOperation | undefined> {
  const now = run.ports.clock.now();
  const from = Math.max(now, operation.sentUpTo ?? 0);
  const aheadMs = from - now;
  if (aheadMs >= AHEAD_MS) return continueLater(run, operation, secondsUntil(from - AHEAD_MS / 2, now));
  const intervalMs = 1000 / chooseRate(ended);
  const most = Math.min(MAX_TOGETHER, Math.ceil((AHEAD_MS - aheadMs) / intervalMs));
  const { waiting, isWhole } = await readWaiting(run, toPlace(operation), Number.MAX_SAFE_INTEGER, most);
  // Of what is gone, what waits to be received is left to the cancellation.
  if (waiting.length === 0 && (isWhole || ended.pause === undefined)) return lookAgain(run, operation);
  const timed = waiting.map((delivery, index) => ({
    key: delivery.key,
    delivery,
    dueAt: Math.ceil(from + index * intervalMs),
  }));
  const made = await processItems(run, operation.kind, timed, (one) => makeDue(run, one));
  const used = waiting.length - made.rest.length;
  if (made.results.includes('due')) return { ...operation, sentUpTo: Math.ceil(from + used * intervalMs) };
  // The index is behind, or a service is down.
  return continueLater(run, operation, READ_AGAIN_SECONDS);
}

/** Deliveries a second. */
function chooseRate({ pause, maxPerSecond }: Extract<Found, { kind: 'ended' }>): number {
  return pause?.perSecond ?? maxPerSecond ?? DEFAULT_RESUME_PER_SECOND;
}

/** After a crash between the two, reconcile sends the wake-up. */
async function makeDue(
  run: OperationRun,
  { delivery, dueAt: from }: { delivery: EndableWait; dueAt: number },
): Promise<'due' | 'changed'> {
  const { deliveries, wakeUps, clock } = run.ports;
  const written = await deliveries.write(endWait(delivery, from, writeTime(run, delivery)));
  // A refusal needs no handling: a concurrent change decides what comes next.
  if (written.kind === 'refused' || written.delivery.next === undefined) return 'changed';
  const { key, next } = written.delivery;
  const { number: attempt, dueAt } = next;
  const delaySeconds = computeSqsDelay(dueAt, clock.now());
  await wakeUps.sendDelayed({ kind: 'wake_up', key, attempt, dueAt, by: 'sqs_delay' }, delaySeconds);
  return 'due';
}

/** The deliveries of a place that wait longest, in this order. `isWhole`: the index has no more up to `before`. */
async function readWaiting(
  { ports }: OperationRun,
  place: WaitingPlace,
  before: number,
  limit: number,
): Promise<{ waiting: readonly EndableWait[]; isWhole: boolean }> {
  const found = await ports.deliveries.waiting(place, before, limit);
  if (found.length === 0) return { waiting: [], isWhole: true };
  const waiting: EndableWait[] = [];
  for (let start = 0; start < found.length; start += PAGE) {
    const keys = found.slice(start, start + PAGE).map(({ key }) => key);
    const { deliveries } = await ports.deliveryListings.records(keys);
    const now = ports.clock.now();
    waiting.push(...deliveries.filter((one) => isEndableWait(one, now)));
  }
  return { waiting: waiting.toSorted((one, other) => one.acceptedAt - other.acceptedAt), isWhole: false };
}

function toPlace({ queue, subscriptionId }: PauseOperation): WaitingPlace {
  return { queue, ...(subscriptionId !== undefined && { subscriptionId }) };
}
