import { findAuth, toSubscriber } from '../../../shared/domain/subscription/destination.ts';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { FAILURES_TO_DISABLE, FAILURES_TO_NOTIFY } from '../../../shared/domain/subscription/health.ts';
import type { Subscription, PendingEvent } from '../../../shared/domain/subscription/subscription.ts';
import type { Write } from '../history.ts';
import { HOUR, MINUTE, SECOND, START, type Scenario, type SimulatedSettings } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import { type Finding, violation } from './delivery-case.ts';

/** A subscription's health matches its responses, and only failing subscriptions are disabled as failing. */
export const healthIsTrue = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    return versions.flatMap((version, index) => [
      ...disabledForAReason(world, version, versions[index - 1]?.value),
      ...healthMatchesResponses(world, version, versions[index - 1]?.value),
      ...eventsAreSent(world, version.value, versions.at(-1)?.value),
    ]);
  });

const disabledForAReason = (
  world: SimulatedWorld,
  { from: at, value }: Version<Subscription | undefined>,
  before: Subscription | undefined,
): Finding[] => {
  if (value?.disabled?.reason !== 'failing' || before?.disabled !== undefined || isBack(value, before))
    return [];
  const { id, failing } = value;
  const faults =
    failing === undefined
      ? ['without a failing period']
      : reasonsAgainst(world, id, { since: failing.since, at });
  return faults.map((detail) => violation('disabled_as_failing', id, detail));
};

/** Restored just then: as it was when it was deleted, without its failures. */
export const isBack = (value: Subscription | undefined, before: Subscription | undefined): boolean =>
  value?.restored?.at !== before?.restored?.at;

/** Reasons against disabling it. The settings may have changed during the run. */
const reasonsAgainst = (
  world: SimulatedWorld,
  id: string,
  { since, at }: { since: number; at: number },
): string[] => {
  const settings = settingsOf(world.scenario);
  const shortest = Math.min(...settings.map((one) => one.disableFailingAfterMs || Infinity));
  const cachedMs = Math.max(...settings.map(({ cacheSeconds }) => cacheSeconds)) * SECOND;
  const planned = world.scenario.subscriptions.find((one) => one.id === id)?.failures ?? 0;
  const before = since === START - HOUR ? planned : 0;
  const failures = results(world, id, { from: since - MINUTE, to: at }).filter(isFailure).length;
  // Results of the last second may not be recorded yet.
  const noted = { from: since + cachedMs + MAX_INVOCATION_MS, to: at - SECOND };
  const successes = results(world, id, noted).filter((write) => !isFailure(write) && isUndisturbed(write));
  const notifiedForMs = before >= FAILURES_TO_NOTIFY ? Infinity : at - notifiedAt(world, id, since);
  const skewMs = 2 * world.scenario.skewMs;
  return [
    ...(at - since < shortest - skewMs ? [`after ${at - since} ms`] : []),
    ...(notifiedForMs < shortest / 2 - skewMs ? [`${notifiedForMs} ms after operators were notified`] : []),
    ...(before + failures < FAILURES_TO_DISABLE ? [`after ${before + failures} failures`] : []),
    ...successes.map((success) => `though ${success.delivery} succeeded at ${success.at}, since ${since}`),
  ];
};

/** When a failing period reached the notification threshold. */
const notifiedAt = ({ subscriptions }: SimulatedWorld, id: string, since: number): number =>
  subscriptions
    .versionsOf(id)
    .find(({ value }) => value?.failing?.since === since && value.failing.failures >= FAILURES_TO_NOTIFY)
    ?.from ?? Infinity;

/** A change to gone or failing follows from a response of its current URL since it was enabled. */
const healthMatchesResponses = (
  world: SimulatedWorld,
  { from: at, value }: Version<Subscription | undefined>,
  before: Subscription | undefined,
): Finding[] => {
  if (value?.version === undefined || before === undefined) return [];
  const said = healthChangeBetween(before, value);
  // A forbidden address is refused without a request.
  if (said === undefined || (said === 'failing' && isForbidden(world.scenario, value.id))) return [];
  return hasResponseFor(world, value, said)
    ? []
    : [violation('health_matches_responses', value.id, `${said} at ${at}`)];
};

const healthChangeBetween = (before: Subscription, after: Subscription): 'gone' | 'failing' | undefined => {
  if (before.disabled === undefined && after.disabled?.reason === 'gone') return 'gone';
  return before.failing === undefined && after.failing !== undefined ? 'failing' : undefined;
};

const hasResponseFor = (
  { history, subscriptions }: SimulatedWorld,
  { id, destination, version }: Subscription,
  said: 'gone' | 'failing',
): boolean => {
  // An attempt without a token fails without a request.
  if (said === 'failing' && findAuth(destination) !== undefined) return true;
  const since = subscriptions.versionsOf(id).find(({ value }) => value?.version === version)?.from ?? 0;
  return history.requests.some(
    ({ url, at, reply }) =>
      url === toSubscriber(destination) &&
      at >= since &&
      (said === 'failing' || (reply.kind === 'answered' && reply.statusCode === 410)),
  );
};

const isForbidden = ({ subscriptions }: Scenario, id: string): boolean =>
  subscriptions.some(
    ({ id: other, answers }) =>
      other === id && [...answers.first, answers.then].some(({ response }) => response === 'forbidden'),
  );

/** All settings of the run. */
const settingsOf = ({ settings, changes }: Scenario): SimulatedSettings[] => [
  settings,
  ...changes.flatMap((change) => (change.kind === 'settings' ? [{ ...settings, ...change.settings }] : [])),
];

/** Recorded attempts of a subscription. */
const results = (
  { history }: SimulatedWorld,
  id: string,
  { from, to }: { from: number; to: number },
): Write[] =>
  history.writes.filter(
    ({ at, transition, delivery }) =>
      (transition.name === 'record' || transition.name === 'record_late') &&
      delivery.endsWith(`/${id}`) &&
      at >= from &&
      at <= to,
  );

const isFailure = ({ transition }: Write): boolean => {
  if ('create' in transition) return transition.create.attempts.at(-1)?.outcome !== 'delivered';
  const { appendAttempt, appendLateResult } = transition.change;
  return (appendAttempt ?? appendLateResult)?.outcome !== 'delivered';
};

/** An invocation with a fault may not have recorded the health change. */
const isUndisturbed = ({ actor }: Write): boolean => actor.invocation.faults.length === 0;

/** Every pending event was sent, unless the subscription was deleted or received nothing more. */
const eventsAreSent = (
  { history }: SimulatedWorld,
  value: Subscription | undefined,
  last: Subscription | undefined,
): Finding[] => {
  const unsent = value?.unsent;
  if (value === undefined || unsent === undefined || last === undefined) return [];
  const isSent = history.events.some(
    (sent) =>
      !('key' in sent) &&
      sent.type !== 'deliveries.expiring' &&
      sent.subscriptionId === value.id &&
      isSame(sent, unsent.event),
  );
  return isSent || last.unsent?.at === unsent.at
    ? []
    : [violation('operators_are_notified', value.id, unsent.event.type)];
};

const isSame = (sent: PendingEvent['event'], event: PendingEvent['event']): boolean =>
  sent.type === event.type && momentOf(sent) === momentOf(event);

const momentOf = (event: PendingEvent['event']): number => {
  if ('at' in event) return event.at;
  return 'since' in event ? event.since : event.expiresAt;
};
