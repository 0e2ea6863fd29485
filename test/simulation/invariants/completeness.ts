import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { ANY_INVOCATION_MS } from '../../../shared/domain/delivery/lease.ts';
import { deliveryName, type Acceptance } from '../history.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import { copiesOf } from '../planned-message.ts';
import { SECOND, type PlannedMessage } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { goesToItsMembers } from './membership.ts';
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
        ...acceptances.flatMap((acceptance) => goesToItsMembers(world, acceptance, byName)),
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
  const isAccepted = acceptances.some(({ record }) => record.life === life);
  return isSent && !isAccepted
    ? [lost(planned.id, 'taken for a message of an earlier life of its queue')]
    : [];
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
