import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { deliveryName, type Acceptance } from '../history.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import { copiesOf } from '../planned-message.ts';
import { SECOND, type PlannedMessage } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { checkMembership } from './membership.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

const lost = (subject: string, detail: string): Finding => ({
  kind: 'lost',
  invariant: 'everything_ends',
  subject,
  detail,
});

/** Every delivery of an accepted message ends, and a message that is not accepted has a recorded reason. */
export const everythingEnds = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] => {
  const byName = new Map(cases.map((one) => [one.name, one]));
  return [
    ...world.scenario.messages.flatMap((planned) => {
      const acceptances = world.history.acceptances.filter(
        ({ record }) => record.key.messageId === planned.id,
      );
      return [
        ...(acceptances.length === 0 ? checkRefusal(world, planned.id) : []),
        ...acceptances.flatMap((acceptance) => checkMembership(world, acceptance, byName)),
        ...missingFromLastLife(world, planned, acceptances),
      ];
    }),
    ...cases.flatMap(({ name, record }) =>
      record !== undefined && isOpen(record) ? [lost(name, `still ${record.status}`)] : [],
    ),
  ];
};

const checkRefusal = ({ history, subscriptions }: SimulatedWorld, id: string): Finding[] => {
  const wasDeleted = subscriptions.queueVersions.some(({ value }) => value === undefined);
  const deadLetters = history.deadLetters.some(
    ({ name, reason }) => name === id && reason === 'unknown_queue',
  );
  return wasDeleted && deadLetters ? [] : [lost(id, 'neither accepted nor refused')];
};

/**
 * A message sent in the queue's last life is accepted in it, even if its id was used before. Shortly after the
 * recreation, a stale cache may assign it to the earlier life.
 */
const missingFromLastLife = (
  { subscriptions, scenario }: SimulatedWorld,
  planned: PlannedMessage,
  acceptances: readonly Acceptance[],
): Finding[] => {
  const life = subscriptions.queueVersions.at(-1)?.value?.createdAt;
  if (life === undefined) return [];
  const settledBy = life + scenario.settings.cacheSeconds * SECOND + 2 * scenario.skewMs + SLOWEST_MS;
  const isSent = copiesOf(planned).some(({ sentAt }) => sentAt >= settledBy);
  const isAccepted = acceptances.some(({ record }) => record.queueCreatedAt === life);
  return isSent && !isAccepted ? [lost(planned.id, 'assigned to an earlier life of its queue')] : [];
};

/**
 * A rejected or exhausted delivery is on the undeliverable queue, a 410 disables the subscription, and retries find
 * their message.
 */
export const pendingStepsAreDone: Invariant = (one) => {
  const { record } = one;
  if (record === undefined) return [];
  const findings = [...missingSteps(one, record)];
  if (record.reason === 'gone' && isEnabled(one) && !isRepaired(one, record))
    findings.push(violation('gone_disables', one, 'the subscription is not disabled'));
  if (record.reason === 'body_missing')
    findings.push(violation('the_body_is_kept', one, 'a retry found no body'));
  return findings;
};

const missingSteps = (one: DeliveryCase, { status, pendingSteps, round, attempts }: Delivery): Finding[] =>
  [
    ...(UNDELIVERABLE.has(status) && !hasNotice(one, round)
      ? [`${status} without an undeliverable message`]
      : []),
    ...(status === 'exhausted' && !hasExhaustedEvent(one, attempts.length)
      ? ['exhausted without an event']
      : []),
    ...pendingSteps.map(({ kind }) => `still pending: ${kind}`),
  ].map((detail) => ({ ...lost(one.name, detail), invariant: 'pending_steps_are_done' }));

/** Statuses that send the delivery to the undeliverable queue. */
const UNDELIVERABLE: ReadonlySet<string> = new Set(['rejected', 'exhausted']);

const hasExhaustedEvent = ({ world, name }: DeliveryCase, attempts: number): boolean =>
  world.history.events.some(
    (event) =>
      event.type === 'delivery.exhausted' && deliveryName(event.key) === name && event.attempts === attempts,
  );

const hasNotice = ({ world, name }: DeliveryCase, ended: number): boolean =>
  world.history.notices.some(({ delivery, round }) => delivery === name && round === ended);

/** Never disabled in the run; an operator may have enabled it again. */
const isEnabled = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.subscriptions
    .versionsOf(subscriptionId)
    .every(({ value }) => value !== undefined && value.disabled === undefined);

/** Its URL changed or it was enabled since it was read for the last attempt. */
const isRepaired = ({ world, subscriptionId }: DeliveryCase, { attempts }: Delivery): boolean => {
  const { scenario, subscriptions } = world;
  const readMs = scenario.settings.cacheSeconds * SECOND + MAX_INVOCATION_MS + 2 * scenario.skewMs;
  const readAt = (attempts.at(-1)?.startedAt ?? 0) - readMs;
  return subscriptions
    .versionsOf(subscriptionId)
    .some(({ value }) => value?.version !== undefined && value.version >= readAt);
};
