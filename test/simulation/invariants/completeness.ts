import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { ANY_INVOCATION_MS } from '../../../shared/domain/delivery/lease.ts';
import { CLOCKS_DIFFER_MS } from '../../../shared/domain/message/life.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { deliveryName, type Acceptance } from '../history.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import { copiesOf } from '../planned-message.ts';
import { SECOND, START, type PlannedMessage, type Scenario } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

const lost = (subject: string, detail: string): Finding => ({
  kind: 'lost',
  invariant: 'everything_ends',
  subject,
  detail,
});

/** Every accepted message × matching subscription ends; a message that was not accepted says why. */
export const everythingEnds = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] => {
  const byName = new Map(cases.map((one) => [one.name, one]));
  return [
    ...world.scenario.messages.flatMap((planned) => {
      const acceptances = world.history.acceptances.filter(
        ({ record }) => record.key.messageId === planned.id,
      );
      return [
        ...(acceptances.length === 0 ? whyRefused(world, planned.id) : []),
        ...acceptances.flatMap((acceptance) => membersOf(world, acceptance, byName)),
        ...swallowedIn(world, planned, acceptances),
      ];
    }),
    ...cases.flatMap(({ name, record }) =>
      record !== undefined && isOpen(record.status) ? [lost(name, `still ${record.status}`)] : [],
    ),
  ];
};

const whyRefused = ({ history, subscriptions }: SimulatedWorld, id: string): Finding[] => {
  const wasDeleted = subscriptions.queueVersions.some(({ value }) => value === undefined);
  const buried = history.buried.some(({ name, reason }) => name === id && reason === 'unknown_queue');
  return wasDeleted && buried ? [] : [lost(id, 'neither accepted nor refused')];
};

/**
 * A message that was sent in the last life of its queue is accepted in it, whatever came under its id before. It may still
 * count to the life before for as long as a list of subscriptions may be old.
 */
const swallowedIn = (
  { subscriptions, scenario }: SimulatedWorld,
  planned: PlannedMessage,
  acceptances: readonly Acceptance[],
): Finding[] => {
  const life = subscriptions.queueVersions.at(-1)?.value?.createdAt;
  if (life === undefined) return [];
  const settledBy = life + scenario.settings.cacheSeconds * SECOND + 2 * scenario.skewMs + SLOWEST_MS;
  const isSent = copiesOf(planned).some(({ sentAt }) => sentAt >= settledBy);
  const isAccepted = acceptances.some(({ record }) => record.listedAt >= life - scenario.skewMs);
  return isSent && !isAccepted
    ? [lost(planned.id, 'taken for a message of an earlier life of its queue')]
    : [];
};

const membersOf = (
  world: SimulatedWorld,
  acceptance: Acceptance,
  byName: ReadonlyMap<string, DeliveryCase>,
): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }): Finding[] => {
    const name = `${acceptance.record.key.messageId}/${id}`;
    const found = byName.get(name);
    // The same id in another life of the queue has other deliveries.
    const isOfThis = found?.record?.acceptedAt === acceptance.record.acceptedAt;
    switch (membershipOf(world, acceptance, id)) {
      case 'member':
        return isOfThis ? [] : [lost(name, 'has no record')];
      case 'stranger':
        return isOfThis ? [violation('later_subscriptions_do_not_match', { name }, 'has a delivery')] : [];
      case 'either':
        return [];
    }
  });

/** What the list that was read for the acceptance must have held. It may have been some seconds old, and the clocks differ. */
const membershipOf = (
  { subscriptions, scenario }: SimulatedWorld,
  { actor, at, record }: Acceptance,
  id: string,
): 'member' | 'stranger' | 'either' => {
  const versions = subscriptions.versionsOf(id);
  const createdAt = versions[0]?.from ?? Infinity;
  if (beganAfter(scenario, at, versions[0]?.value)) return 'stranger';
  const earliestRead = actor.startedAt - scenario.settings.cacheSeconds * SECOND;
  const wasListed = createdAt === START || createdAt < earliestRead;
  const stayed = versions.every(
    ({ value }) => (value?.expiresAt ?? Infinity) > record.acceptedAt && value !== undefined,
  );
  return wasListed && stayed ? 'member' : 'either';
};

/** What the API took long to write it calls as old as it began to. Pages behind the first allow for clocks that differ. */
const beganAfter = (
  { subscriptions, pageSize, skewMs }: Scenario,
  at: number,
  first: Subscription | undefined,
): boolean => {
  const allowedMs = subscriptions.length > pageSize ? CLOCKS_DIFFER_MS : 0;
  return (first?.createdAt ?? Infinity) > at + 2 * skewMs + allowedMs;
};

/** A rejected or exhausted delivery has its notice, a 410 disables, and no message is missing when it is needed. */
export const nothingOwedIsForgotten: Invariant = (one) => {
  const { record } = one;
  if (record === undefined) return [];
  const findings = [...forgottenBy(one, record)];
  if (record.reason === 'gone' && isEnabled(one) && !isRepaired(one, record))
    findings.push(violation('gone_disables', one, 'the subscription is not disabled'));
  if (record.reason === 'body_missing')
    findings.push(violation('the_body_is_kept', one, 'a retry found no body'));
  return findings;
};

const forgottenBy = (one: DeliveryCase, { status, owed, round, attempts }: Delivery): Finding[] =>
  [
    ...(NOTICED.has(status) && !isNoticed(one, round) ? [`${status} without a notice`] : []),
    ...(status === 'exhausted' && !isToldOf(one, attempts.length) ? ['exhausted, and nobody was told'] : []),
    ...(owed.length > 0 ? [`still owes ${owed.join()}`] : []),
  ].map((detail) => ({ ...lost(one.name, detail), invariant: 'nothing_owed_is_forgotten' }));

/** How a delivery ends that somebody has to be told of. */
const NOTICED: ReadonlySet<string> = new Set(['rejected', 'exhausted']);

const isToldOf = ({ world, name }: DeliveryCase, attempts: number): boolean =>
  world.history.events.some(
    (event) =>
      event.type === 'delivery.exhausted' && deliveryName(event.key) === name && event.attempts === attempts,
  );

const isNoticed = ({ world, name }: DeliveryCase, ended: number): boolean =>
  world.history.notices.some(({ delivery, round }) => delivery === name && round === ended);

/** And always has been: somebody may have enabled it again. */
const isEnabled = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.subscriptions
    .versionsOf(subscriptionId)
    .every(({ value }) => value !== undefined && value.disabled === undefined);

/** It has another subscriber, or was enabled, since it was read for the last attempt. */
const isRepaired = ({ world, subscriptionId }: DeliveryCase, { attempts }: Delivery): boolean => {
  const { scenario, subscriptions } = world;
  const readMs = scenario.settings.cacheSeconds * SECOND + ANY_INVOCATION_MS + 2 * scenario.skewMs;
  const readAt = (attempts.at(-1)?.startedAt ?? 0) - readMs;
  return subscriptions
    .versionsOf(subscriptionId)
    .some(({ value }) => value?.changedAt !== undefined && value.changedAt >= readAt);
};
