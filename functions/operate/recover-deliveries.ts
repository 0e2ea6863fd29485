import {
  MAX_RECHECKS,
  OPERATE_TIMEOUT_SECONDS,
  type RecoveryOperation,
  recheckDelaySeconds,
} from '../../shared/domain/recovery/operation.ts';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import {
  isRecoverable,
  stepAfterBatch,
  withPage,
  type Recovery,
  isSelected,
  nextVersion,
  withDeferredAsBatch,
  withResults,
  type ReplayResult,
} from '../../shared/domain/recovery/recovery.ts';
import type { SaveResult } from '../../shared/ports/deliveries.ts';
import type { RetryRefusal } from '../../shared/domain/vocabulary.ts';
import { reopenDelivery } from '../../shared/steps/by-hand.ts';
import {
  continueLater,
  noteFailed,
  PAGE_MS,
  SIDE_BY_SIDE,
  workThrough,
  type OperateContext,
  type TimeLeft,
} from './context.ts';
import { writeTime } from '../../shared/steps/retention.ts';

/** Deliveries of a page. Their keys stand on the recovery's record while they are worked on: some 7 KB. */
const PAGE = 50;

/** The order is sent before its record is written, by a request that has ended, one way or the other, a minute later. */
const CREATION_MS = 60_000;
const CREATION_LOOK_SECONDS = 15;

/** If the invocation that was quicker died, its work is taken up then. */
const WATCH_AFTER_SECONDS = OPERATE_TIMEOUT_SECONDS + 5;

/**
 * Gives the deliveries of a recovery another round, page by page. A page's keys are on the recovery's record before the first
 * of them is touched, and are counted by the write that replaces them by the next page's: after a crash the page is worked on
 * again, and the deliveries that have had their round say so.
 * @throws when a service fails: the message comes again.
 */
export async function recoverDeliveries(
  context: OperateContext,
  order: RecoveryOperation,
  remaining: TimeLeft,
): Promise<void> {
  let recovery = await context.ports.recoveries.find(order.queue, order.recoveryId);
  if (recovery === undefined) await awaitRecord(context, order);
  while (recovery?.state === 'running') {
    const progress = remaining() < PAGE_MS ? { waitSeconds: 0 } : await advance(context, recovery, remaining);
    if ('waitSeconds' in progress) {
      await continueLater(context, order, progress.waitSeconds);
      return;
    }
    recovery = progress.recovery;
  }
  if (recovery?.state === 'stopped') await countStopped(context, recovery);
}

/** The record as it is now; or how long another message has to wait before it goes on. */
type Progress = { recovery: Recovery | undefined } | { waitSeconds: number };

async function advance(context: OperateContext, recovery: Recovery, remaining: TimeLeft): Promise<Progress> {
  const { recovery: next, waitSeconds } = await stepOf(context, recovery, remaining);
  const saving = await saved(context, next);
  if (saving.kind === 'saved') return waitSeconds === undefined ? { recovery: next } : { waitSeconds };
  const { current } = saving;
  // Another invocation is working on it, perhaps by a copy of this very message, which our acknowledgement deletes for both.
  // So another message looks at it later.
  return current?.state === 'running' ? { waitSeconds: WATCH_AFTER_SECONDS } : { recovery: current };
}

async function saved({ ports }: OperateContext, recovery: Recovery): Promise<SaveResult> {
  const saving = await ports.recoveries.save(recovery);
  if (saving.kind === 'saved' && recovery.state === 'completed') {
    const { id, selection, found, reopened } = recovery;
    ports.journal.note({
      fact: 'recovery_completed',
      queue: selection.queue,
      recoveryId: id,
      found,
      reopened,
    });
  }
  return saving;
}

async function awaitRecord(context: OperateContext, order: RecoveryOperation): Promise<void> {
  const { ports } = context;
  if (ports.clock.now() < order.orderedAt + CREATION_MS) {
    await continueLater(context, order, CREATION_LOOK_SECONDS);
    return;
  }
  // The request that ordered it has failed, and its caller knows.
  ports.journal.note({ fact: 'operation_dropped', operation: order.kind, queue: order.queue });
}

/** What is written next; `waitSeconds`: how long to wait before the step after it. */
type Step = { recovery: Recovery; waitSeconds?: number };

async function stepOf(context: OperateContext, recovery: Recovery, remaining: TimeLeft): Promise<Step> {
  const { results, rest } = await handleBatch(context, recovery, remaining);
  const after = withResults(recovery, results, rest);
  const step = rest.length > 0 ? { recovery: after } : await nextStep(context, after);
  return { ...step, recovery: nextVersion(step.recovery, writeTime(context)) };
}

async function nextStep(context: OperateContext, recovery: Recovery): Promise<Step> {
  switch (stepAfterBatch(recovery)) {
    case 'list':
      return { recovery: withPage(recovery, await nextPage(context, recovery)) };
    case 'look_again':
      return { recovery: withDeferredAsBatch(recovery), waitSeconds: recheckDelaySeconds(recovery.looks) };
    case 'complete':
      return { recovery: { ...recovery, state: 'completed' } };
  }
}

/** The status in the listing saves reading open deliveries; the record decides when its turn comes. */
async function nextPage({ ports }: OperateContext, { selection, cursor }: Recovery) {
  const page = { limit: PAGE, ...(cursor !== undefined && { marker: cursor }) };
  const { items, marker } = await ports.deliveryListings.oldest(selection, page);
  return { keys: items.filter(({ status }) => isRecoverable(status)).map(({ key }) => key), marker };
}

/** The next ten of the batch: what the recovery's record says of its progress is at most so many behind, also after a crash. */
async function handleBatch(context: OperateContext, recovery: Recovery, remaining: TimeLeft) {
  const now = recovery.batch.slice(0, SIDE_BY_SIDE);
  if (now.length === 0) return { results: [], rest: [] };
  const { deliveries, unreadable } = await context.ports.deliveryListings.records(now);
  const { results, failed, rest } = await workThrough(deliveries, remaining, (delivery) =>
    handle(context, recovery, delivery),
  );
  const faults = [
    ...unreadable.map(({ key, error }) => faultOf(context, key, error)),
    ...failed.map(({ item, error }) => resultOfFailed(context, recovery, item, error)),
  ];
  const left = [...rest.map(({ key }) => key), ...recovery.batch.slice(SIDE_BY_SIDE)];
  return { results: [...results, ...faults], rest: left };
}

/** At the last look, one that has had its round lacks no more than its wake-up, and reconcile finds it overdue. */
function resultOfFailed(
  context: OperateContext,
  recovery: Recovery,
  { key, recoveries }: Delivery,
  error: unknown,
): ReplayResult {
  const fault = faultOf(context, key, error);
  const isLeftToReconcile = recovery.looks >= MAX_RECHECKS && recoveries.includes(recovery.id);
  return isLeftToReconcile ? { kind: 'reopened' } : fault;
}

/** A service that is down comes back; a record that cannot be read or written is given up after the last look. */
function faultOf(context: OperateContext, key: DeliveryKey, error: unknown): ReplayResult {
  noteFailed(context, 'recovery', key, error);
  return { kind: 'later', why: 'fault', key };
}

/** As it was read just now: since its key was put on record it may have been retried by hand, even delivered. */
async function handle(
  context: OperateContext,
  recovery: Recovery,
  delivery: Delivery,
): Promise<ReplayResult> {
  const { key } = delivery;
  const isOurs = delivery.recoveries.includes(recovery.id);
  if (!isOurs && !isSelected(recovery, delivery)) return { kind: 'unconcerned' };
  const result = await reopenDelivery(context, key, recovery.id);
  if (result.kind === 'retried') return { kind: 'reopened' };
  return handlingOf(result.why, key);
}

function handlingOf(why: RetryRefusal, key: Delivery['key']): ReplayResult {
  switch (why) {
    // Not counted yet: otherwise its key would not be in the batch any more.
    case 'recovered_already':
      return { kind: 'reopened' };
    case 'being_closed':
    case 'contended':
    case 'in_flight':
      return { kind: 'later', why, key };
    case 'no_such_delivery':
    case 'delivered':
      return { kind: 'unconcerned' };
    case 'body_gone':
    case 'too_many_attempts':
    case 'message_expired':
    case 'subscription_absent':
    case 'not_begun':
    case 'open':
      return { kind: 'skipped', why };
  }
}

/** Counts, for a recovery that was stopped in the middle of a batch, the deliveries that had been given a round by then. */
async function countStopped(context: OperateContext, recovery: Recovery): Promise<void> {
  const { ports } = context;
  const uncounted = [...recovery.batch, ...recovery.deferred];
  if (uncounted.length === 0) return;
  const { deliveries } = await ports.deliveryListings.records(uncounted);
  const reopened: ReplayResult[] = deliveries.flatMap((delivery) =>
    delivery.recoveries.includes(recovery.id) ? [{ kind: 'reopened' }] : [],
  );
  // Refused: another invocation has counted them.
  await ports.recoveries.save(
    nextVersion(withResults({ ...recovery, deferred: [] }, reopened, []), writeTime(context)),
  );
}
