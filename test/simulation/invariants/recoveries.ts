import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type { RecoveryPage } from '../../../shared/ports/deliveries.ts';
import { deliveryName, type Write } from '../history.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { START } from '../scenario.ts';
import { isOfDeletedQueue } from './cancellations.ts';
import { erasureOf } from './fidelity.ts';
import { validBetween } from './policy.ts';
import { acceptanceOf, recordAt, violation, type DeliveryCase, type Finding } from './delivery-case.ts';

/**
 * Every recovery completes, counts each delivery that it reopened, stores each once on its pages, and includes every
 * delivery that had ended when it was requested.
 */
export const recoveriesAreTrue = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] =>
  [...world.recoveries].flatMap(([name, recovery]) => {
    const wrong = (invariant: string, detail: string) => violation(invariant, recovery.id, detail);
    const { state, found, reopened, skipped } = recovery;
    const counted = Object.values(skipped).reduce((sum, count) => sum + count, reopened);
    const rounds = cases.flatMap(({ writes }) =>
      writes.filter((write) => isReopenedBy(recovery, write)),
    ).length;
    const dueCases = cases.filter((one) => isDue(world, recovery, one));
    const due = dueCases.length;
    const proven = provenBy(recovery, [...(world.recoveryPages.get(name)?.values() ?? [])], cases);
    return [
      ...(state === 'completed' ? [] : [wrong('recoveries_end', state)]),
      ...(found === counted && reopened === rounds
        ? []
        : [
            wrong(
              'recoveries_count',
              `${found} found, ${counted} counted, ${reopened} reopened, ${rounds} rounds`,
            ),
          ]),
      ...(proven === reopened
        ? []
        : [wrong('recoveries_prove', `${proven} of ${reopened} reopened on their pages`)]),
      ...(found >= due ? [] : [wrong('recoveries_include_all', `${found} found of ${due}`)]),
      ...dueCases
        .filter((one) => wasDeleted(world, recovery, one))
        .filter(({ writes }) => !writes.some((write) => isReopenedBy(recovery, write)))
        .map(({ name }) => wrong('what_a_deletion_cancelled_is_reopened', name)),
    ];
  });

/** The deliveries that the outcomes of a recovery count: once for each time that a page contains them. */
const provenBy = (
  { id }: Recovery,
  pages: readonly RecoveryPage[],
  cases: readonly DeliveryCase[],
): number => {
  const records = new Map(cases.map(({ name, record }) => [name, record]));
  return pages
    .flatMap(({ keys }) => keys)
    .filter((key) => records.get(deliveryName(key))?.recoveries.includes(id) === true).length;
};

const isReopenedBy = ({ id }: Recovery, { transition, before, after }: Write): boolean =>
  transition.name === 'reopen' && after.recoveries.includes(id) && before?.recoveries.includes(id) !== true;

/** It had ended in a recoverable status in the queue as it is, and was not changed since. */
const isDue = (world: SimulatedWorld, recovery: Recovery, one: DeliveryCase): boolean => {
  const { subscriptionId } = recovery.selection;
  if (subscriptionId !== undefined && subscriptionId !== one.subscriptionId) return false;
  const orderedAt = recovery.createdAt - 2 * world.scenario.skewMs;
  const then = recordAt(one, orderedAt);
  if (then === undefined || !isRecoverable(then)) return false;
  // Perhaps of another customer.
  if (isOfDeletedQueue(one, orderedAt)) return false;
  const next = one.writes.find(({ at, transition }) => at > orderedAt && !MEANWHILE.has(transition.name));
  return next === undefined || isReopenedBy(recovery, next);
};

/** It was cancelled by a deletion, its queue and subscription are there since, and nothing else is against it. */
const wasDeleted = (world: SimulatedWorld, { createdAt }: Recovery, one: DeliveryCase): boolean => {
  const { subscriptions, scenario } = world;
  const orderedAt = createdAt - 2 * scenario.skewMs;
  return (
    recordAt(one, orderedAt)?.reason?.endsWith('deleted') === true &&
    hasData(one) &&
    orderedAt > START + scenario.calmAt &&
    !validBetween(subscriptions.queueVersions, orderedAt, Infinity).includes(undefined) &&
    validBetween(subscriptions.versionsOf(one.subscriptionId), orderedAt, Infinity).every(isActive)
  );
};

/** It neither expires nor was erased. */
const hasData = (one: DeliveryCase): boolean =>
  acceptanceOf(one)?.actor.copy?.message.expiresAt === undefined && erasureOf(one) === Infinity;

const isActive = (subscription: Subscription | undefined): boolean =>
  subscription !== undefined &&
  [subscription.disabled, subscription.unconfirmed, subscription.deletedAt, subscription.expiresAt].every(
    (reason) => reason === undefined,
  );

const isRecoverable = ({ status, reason }: Write['after']): boolean =>
  status === 'rejected' || status === 'exhausted' || (status === 'cancelled' && reason !== 'manual');

/** Writes to a finished delivery that do not reopen it. */
const MEANWHILE: ReadonlySet<string> = new Set(['settle', 'postpone']);
