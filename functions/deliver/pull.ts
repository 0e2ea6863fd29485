import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import {
  awaitPull,
  openForPull,
  decidePullStep,
  retainedForPull,
  type ReceivedDelivery,
} from '../../shared/domain/delivery/pull.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { policyOfRound } from '../../shared/domain/subscription/delivery-policy.ts';
import { findRecord, keepMessage, keptBody, readKept } from '../../shared/steps/keep-message.ts';
import { recordResult } from '../../shared/steps/record-received.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';
import { completePendingSteps } from './pending-steps.ts';
import type { Plan } from './plan.ts';

type PullPlan = Extract<Plan, { kind: 'pull' }>;

/**
 * Handles the work of a delivery whose subscriber fetches it (docs/pull.md): it waits on record from now on, or its
 * lease ended without an answer. Idempotent.
 * @throws PendingStepsFailedError
 */
export async function leaveToPull(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  recipient: PullPlan,
): Promise<void> {
  const { ports } = context;
  const current = await openedOrCurrent(context, work);
  if (current === 'opened') return;
  const step = decidePullStep(current, ports.clock.now());
  switch (step.kind) {
    case 'none': {
      const { key, attempt } = work;
      const { dropped: reason } = step;
      if (reason !== undefined) ports.journal.note({ fact: 'wake_up_dropped', key, attempt, reason });
      return;
    }
    case 'unfinished':
      await completePendingSteps(context, step.delivery, await keptBody(ports, step.delivery));
      return;
    case 'await': {
      const { delivery, next } = step;
      const retained = retainedForPull(delivery, context.settings);
      if (delivery.retentionDays !== undefined)
        await readKept(context, await findRecord(ports, delivery), retained);
      // A refusal needs no handling: a concurrent change decides what comes next.
      await ports.deliveries.write(awaitPull(delivery, next, writeTime(context, retained)));
      return;
    }
    case 'lapsed':
      await recordLapse(context, step.delivery, recipient);
  }
}

/** Opens the record of a first attempt, after storing its message. Otherwise returns the current record. */
async function openedOrCurrent(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
): Promise<Delivery | 'opened' | undefined> {
  const { ports, settings } = context;
  if (work.kind === 'wake_up') return ports.deliveries.find(work.key);
  const retained = retainedForPull(work, settings);
  await keepMessage(context, { ...work, ...retained });
  const result = await ports.deliveries.write(openForPull(work, writeTime(context, retained)));
  return result.kind === 'written' ? 'opened' : result.current;
}

/** Records a failed attempt: the subscriber received the delivery and did not answer within the lease. */
async function recordLapse(
  context: DeliverContext,
  delivery: ReceivedDelivery,
  recipient: PullPlan,
): Promise<void> {
  const { ports, settings } = context;
  const { policy } = policyOfRound(delivery, recipient, settings);
  const at = writeTime(context, retainedForPull(delivery, settings));
  const lapse = { result: { kind: 'lapsed' }, policy } as const;
  const recorded = await recordResult(ports, delivery, lapse, at);
  // Undefined: its answer came in the same moment.
  if (recorded !== undefined && recorded.pendingSteps.length > 0)
    await completePendingSteps(context, recorded, await keptBody(ports, recorded));
}
