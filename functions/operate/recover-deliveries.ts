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
  toListing,
  withPage,
  type Recovery,
  isSelected,
  nextVersion,
  withDeferredAsBatch,
  withResults,
  type RecoveryResult,
} from '../../shared/domain/recovery/recovery.ts';
import type { RetryRefusal } from '../../shared/domain/delivery/vocabulary.ts';
import { reopenDelivery } from '../../shared/steps/retry-delivery.ts';
import {
  continueLater,
  noteFailed,
  PAGE_MS,
  CONCURRENCY,
  type OperationRun,
  processItems,
} from './context.ts';
import { bodyRetentionMs, writeTime } from '../../shared/steps/retention.ts';

/** Deliveries per page. The recovery's record stores their keys meanwhile: about 7 KB. */
const PAGE = 50;

/** The API sends the operation before it writes the record. After a minute that request has certainly ended. */
const CREATION_MS = 60_000;
const CREATION_RECHECK_SECONDS = 15;

/** When to check again after a concurrent invocation won: it has finished or crashed by then. */
const RECHECK_SECONDS = OPERATE_TIMEOUT_SECONDS + 5;

/**
 * Starts a new retry round for a recovery's deliveries, page by page. The record stores a page's keys before they are
 * processed and counts them when it stores the next page. After a crash the page repeats; a delivery's `recoveries`
 * shows that it was already reopened.
 * @throws if a service fails: SQS redelivers the message
 */
export async function recoverDeliveries(run: OperationRun, operation: RecoveryOperation): Promise<void> {
  let recovery = await run.ports.recoveries.find(operation.queue, operation.recoveryId);
  if (recovery === undefined) await awaitRecord(run, operation);
  while (recovery?.state === 'running') {
    await keepPage(run, recovery);
    const progress = run.remaining() < PAGE_MS ? { waitSeconds: 0 } : await advance(run, recovery);
    if ('waitSeconds' in progress) return continueLater(run, operation, progress.waitSeconds);
    recovery = progress.recovery;
  }
  if (recovery?.state === 'stopped') await countStopped(run, recovery);
}

/**
 * Stores the batch as a page, before its first delivery changes. When only its rest is left, storing it again is a
 * no-op. A batch of deferred deliveries is no page: an empty last page has no stored keys that it would leave in place.
 */
async function keepPage({ ports, settings }: OperationRun, recovery: Recovery): Promise<void> {
  const { pages = 0, looks, batch } = recovery;
  if (pages === 0 || looks > 0 || batch.length === 0) return;
  // As long as its deliveries can be on record, however long the recovery runs after it.
  const expiresAt = ports.clock.now() + bodyRetentionMs(settings, {});
  await ports.recoveries.keepPage({ ...recovery, pages, expiresAt });
}

/** The current record, or the seconds until another message continues. */
type Progress = { recovery: Recovery | undefined } | { waitSeconds: number };

async function advance(run: OperationRun, recovery: Recovery): Promise<Progress> {
  const { recovery: next, waitSeconds } = await takeStep(run, recovery);
  const { recoveries, journal } = run.ports;
  const saved = await recoveries.save(next);
  if (saved.kind === 'saved') {
    const { id: recoveryId, selection, state, found, reopened } = next;
    if (state === 'completed')
      journal.note({ fact: 'recovery_completed', queue: selection.queue, recoveryId, found, reopened });
    return waitSeconds === undefined ? { recovery: next } : { waitSeconds };
  }
  const { current } = saved;
  // Another invocation is working on it, perhaps with a copy of this SQS message, which our acknowledgement would
  // delete too. A new message checks later.
  return current?.state === 'running' ? { waitSeconds: RECHECK_SECONDS } : { recovery: current };
}

async function awaitRecord(run: OperationRun, operation: RecoveryOperation): Promise<void> {
  const { ports } = run;
  if (ports.clock.now() < operation.orderedAt + CREATION_MS)
    return continueLater(run, operation, CREATION_RECHECK_SECONDS);
  // The API request that sent the operation failed, and its caller received the error.
  ports.journal.note({ fact: 'operation_dropped', operation: operation.kind, queue: operation.queue });
}

/** The record to write next. `waitSeconds`: the wait before the following step. */
type Step = { recovery: Recovery; waitSeconds?: number };

async function takeStep(run: OperationRun, recovery: Recovery): Promise<Step> {
  const { results, rest } = await handleBatch(run, recovery);
  const after = withResults(recovery, results, rest);
  const step = rest.length > 0 ? { recovery: after } : await nextStep(run, after);
  return { ...step, recovery: nextVersion(step.recovery, writeTime(run, {})) };
}

async function nextStep(run: OperationRun, recovery: Recovery): Promise<Step> {
  switch (stepAfterBatch(recovery)) {
    case 'list':
      return { recovery: withPage(recovery, await nextPage(run, recovery)) };
    case 'recheck':
      return { recovery: withDeferredAsBatch(recovery), waitSeconds: recheckDelaySeconds(recovery.looks) };
    case 'complete':
      return { recovery: { ...recovery, state: 'completed' } };
  }
}

/** The listed status only skips open deliveries early; each delivery's record decides when it is processed. */
async function nextPage({ ports }: OperationRun, { selection, cursor }: Recovery) {
  const page = { limit: PAGE, marker: cursor };
  const { items, marker } = await ports.deliveryListings.oldest(toListing(selection), page);
  return { keys: items.filter(({ status }) => isRecoverable(status)).map(({ key }) => key), marker };
}

/**
 * Processes the next ten of the batch, so that the recorded progress is at most ten deliveries behind, even after a
 * crash.
 */
async function handleBatch(run: OperationRun, recovery: Recovery) {
  const group = recovery.batch.slice(0, CONCURRENCY);
  if (group.length === 0) return { results: [], rest: [] };
  const { deliveries, unreadable } = await run.ports.deliveryListings.records(group);
  for (const { key, error } of unreadable) noteFailed(run, 'recovery', key, error);
  const { results, failed, rest } = await processItems(run, 'recovery', deliveries, (delivery) =>
    recoverDelivery(run, recovery, delivery),
  );
  const faults = [
    ...unreadable.map(({ key }) => deferFailed(key)),
    ...failed.map((delivery) => resultOfFailed(recovery, delivery)),
  ];
  const left = [...rest.map(({ key }) => key), ...recovery.batch.slice(CONCURRENCY)];
  return { results: [...results, ...faults], rest: left };
}

/** At the last recheck, a delivery that lacks only its wake-up counts as reopened: reconcile finds it overdue. */
function resultOfFailed(recovery: Recovery, { key, recoveries }: Delivery): RecoveryResult {
  const isLeftToReconcile = recovery.looks >= MAX_RECHECKS && recoveries.includes(recovery.id);
  return isLeftToReconcile ? { kind: 'reopened' } : deferFailed(key);
}

/** Defers a failed delivery, because a service outage ends. After the last recheck it is skipped. */
function deferFailed(key: DeliveryKey): RecoveryResult {
  return { kind: 'deferred', why: 'fault', key };
}

/**
 * Reopens one delivery. It was just read again: it may have been retried manually or delivered since it was listed.
 */
async function recoverDelivery(
  run: OperationRun,
  recovery: Recovery,
  delivery: Delivery,
): Promise<RecoveryResult> {
  const { key } = delivery;
  const isRecovered = delivery.recoveries.includes(recovery.id);
  if (!isRecovered && !isSelected(recovery, delivery)) return { kind: 'not_covered' };
  const result = await reopenDelivery(run, key, recovery.id);
  if (result.kind === 'retried') return { kind: 'reopened' };
  return resultOfRefusal(result.why, key);
}

function resultOfRefusal(why: RetryRefusal, key: Delivery['key']): RecoveryResult {
  switch (why) {
    // Its key is still in the batch, so it was not counted yet.
    case 'recovered_already':
      return { kind: 'reopened' };
    case 'being_closed':
    case 'contended':
    case 'in_flight':
      return { kind: 'deferred', why, key };
    case 'no_such_delivery':
    case 'delivered':
      return { kind: 'not_covered' };
    case 'body_gone':
    case 'too_many_attempts':
    case 'message_expired':
    case 'subscription_absent':
    case 'paused':
    case 'not_begun':
    case 'open':
      return { kind: 'skipped', why };
  }
}

/** Counts the deliveries that a stopped recovery had already reopened in its current batch. */
async function countStopped(run: OperationRun, recovery: Recovery): Promise<void> {
  const { ports } = run;
  const uncounted = [...recovery.batch, ...recovery.deferred];
  if (uncounted.length === 0) return;
  const { deliveries } = await ports.deliveryListings.records(uncounted);
  const reopened: RecoveryResult[] = deliveries.flatMap((delivery) =>
    delivery.recoveries.includes(recovery.id) ? [{ kind: 'reopened' }] : [],
  );
  // A refusal needs no handling: another invocation counted them.
  await ports.recoveries.save(
    nextVersion(withResults({ ...recovery, deferred: [] }, reopened, []), writeTime(run, {})),
  );
}
