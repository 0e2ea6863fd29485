import { contended, withRetriedWrites } from '../../../shared/domain/contention.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import {
  newRecovery,
  recoveryIdOf,
  type Recovery,
  type RecoverySelection,
  nextVersion,
} from '../../../shared/domain/recovery/recovery.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { type BodyRetention, bodyRetentionMs } from '../../../shared/steps/retention.ts';
import type { ApiPorts } from '../dependencies.ts';

export type RecoveriesContext = Pick<ApiPorts, 'recoveries' | 'operations' | 'clock' | 'newId'> & {
  registry: Pick<Registry, 'findQueue'>;
  settings: BodyRetention;
};

/** When operate begins, the eventually consistent listings have the latest failures, and the record is written. */
const BEGIN_AFTER_SECONDS = 3;

/**
 * `window_empty`: the window begins in the future. `window_too_old`: records from before `olderThan` may have expired.
 */
export type StartResult =
  | { kind: 'started'; recovery: Recovery }
  | { kind: 'no_such_queue' }
  | { kind: 'window_empty' }
  | { kind: 'window_too_old'; olderThan: number };

/**
 * Starts a recovery of the deliveries that have failed so far. Sends the operation before it writes the record, because
 * operate drops an operation without a record; in the reverse order, a crash would leave a recovery that never ends.
 * @throws when the recovery could not be started; then nothing is replayed
 */
export async function startRecovery(
  context: RecoveriesContext,
  asked: RecoverySelection,
): Promise<StartResult> {
  const { registry, recoveries, operations, clock, newId, settings } = context;
  const now = clock.now();
  const selection = { ...asked, until: Math.min(asked.until, now) };
  if (selection.since >= selection.until) return { kind: 'window_empty' };
  const { queue } = selection;
  const found = await registry.findQueue(queue);
  if (found === undefined) return { kind: 'no_such_queue' };
  const retained = { retentionDays: queueMember('_retention_days', found.metadata) };
  const olderThan = now - bodyRetentionMs(settings, retained);
  if (selection.since < olderThan) return { kind: 'window_too_old', olderThan };
  const at = { now, retentionMs: settings.retentionMs };
  const recovery = newRecovery(recoveryIdOf(now, newId()), selection, at);
  const operation = { kind: 'recovery', queue, recoveryId: recovery.id, orderedAt: now } as const;
  await operations.send(operation, BEGIN_AFTER_SECONDS);
  await recoveries.create(recovery);
  return { kind: 'started', recovery };
}

/** operate writes the record once for each page. */
const MAX_TRIES = { tries: 10 };

/**
 * Stops a recovery after its current page. Undefined: there is no such recovery. `over`: it had already ended.
 * @throws ContendedError
 */
export async function stopRecovery(
  { recoveries, clock, settings }: Pick<RecoveriesContext, 'recoveries' | 'clock' | 'settings'>,
  queue: string,
  id: string,
): Promise<'stopped' | 'over' | undefined> {
  let current = await recoveries.find(queue, id);
  const stop = async () => {
    if (current === undefined) return undefined;
    if (current.state !== 'running') return 'over';
    const at = { now: clock.now(), retentionMs: settings.retentionMs };
    const saving = await recoveries.save(nextVersion({ ...current, state: 'stopped' }, at));
    if (saving.kind === 'saved') return 'stopped';
    current = saving.current;
    return 'again';
  };
  return withRetriedWrites<'stopped' | 'over' | undefined>(
    stop,
    contended(`recovery ${queue}/${id}`),
    MAX_TRIES,
  );
}
