import { ANY_INVOCATION_MS } from '../../../shared/domain/delivery/lease.ts';
import { FAILURES_TO_DISABLE, FAILURES_TO_NOTIFY } from '../../../shared/domain/subscription/health.ts';
import type { Subscription, PendingEvent } from '../../../shared/domain/subscription/subscription.ts';
import type { Write } from '../history.ts';
import { HOUR, MINUTE, SECOND, START, type Scenario, type SimulatedSettings } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import type { Finding } from './delivery-case.ts';

/** What is said of a subscription is true, and nobody is disabled as failing who was not. */
export const healthIsTrue = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    return versions.flatMap((version, index) => [
      ...disabledForAReason(world, version, versions[index - 1]?.value),
      ...saidOfIt(world, version, versions[index - 1]?.value),
      ...toldInTheEnd(world, version.value, versions.at(-1)?.value),
    ]);
  });

const finding = (invariant: string, subject: string, detail: string): Finding => ({
  kind: 'violation',
  invariant,
  subject,
  detail,
});

const disabledForAReason = (
  world: SimulatedWorld,
  { from: at, value }: Version<Subscription | undefined>,
  before: Subscription | undefined,
): Finding[] => {
  if (value?.disabled?.reason !== 'failing' || before?.disabled !== undefined) return [];
  const { id, failing } = value;
  const faults =
    failing === undefined ? ['without a spell'] : whyNot(world, id, { since: failing.since, at });
  return faults.map((detail) => finding('disabled_as_failing', id, detail));
};

/** What speaks against disabling it. The settings may have changed in the middle of the run. */
const whyNot = (
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
  // What came within the last second may not have been noted yet.
  const noted = { from: since + cachedMs + ANY_INVOCATION_MS, to: at - SECOND };
  const successes = results(world, id, noted).filter((write) => !isFailure(write) && isUndisturbed(write));
  const toldForMs = before >= FAILURES_TO_NOTIFY ? Infinity : at - toldAt(world, id, since);
  const skewMs = 2 * world.scenario.skewMs;
  return [
    ...(at - since < shortest - skewMs ? [`after ${at - since} ms`] : []),
    ...(toldForMs < shortest / 2 - skewMs ? [`${toldForMs} ms after operators were told`] : []),
    ...(before + failures < FAILURES_TO_DISABLE ? [`after ${before + failures} failures`] : []),
    ...successes.map((success) => `though ${success.delivery} succeeded at ${success.at}, since ${since}`),
  ];
};

/** When operators were to be told of a spell. */
const toldAt = ({ subscriptions }: SimulatedWorld, id: string, since: number): number =>
  subscriptions
    .versionsOf(id)
    .find(({ value }) => value?.failing?.since === since && value.failing.failures >= FAILURES_TO_NOTIFY)
    ?.from ?? Infinity;

/** That it is gone, or begins to fail, was said by itself: at its own address, and since it was enabled. */
const saidOfIt = (
  world: SimulatedWorld,
  { from: at, value }: Version<Subscription | undefined>,
  before: Subscription | undefined,
): Finding[] => {
  if (value?.changedAt === undefined || before === undefined) return [];
  const said = saidBetween(before, value);
  // Our own refusal of an address reaches nobody.
  if (said === undefined || (said === 'failing' && isForbidden(world.scenario, value.id))) return [];
  return isSaid(world, value, said) ? [] : [finding('said_of_itself', value.id, `${said} at ${at}`)];
};

const saidBetween = (before: Subscription, after: Subscription): 'gone' | 'failing' | undefined => {
  if (before.disabled === undefined && after.disabled?.reason === 'gone') return 'gone';
  return before.failing === undefined && after.failing !== undefined ? 'failing' : undefined;
};

const isSaid = (
  { history, subscriptions }: SimulatedWorld,
  { id, subscriber, changedAt }: Subscription,
  said: 'gone' | 'failing',
): boolean => {
  const since = subscriptions.versionsOf(id).find(({ value }) => value?.changedAt === changedAt)?.from ?? 0;
  return history.requests.some(
    ({ url, at, reply }) =>
      url === subscriber &&
      at >= since &&
      (said === 'failing' || (reply.kind === 'answered' && reply.statusCode === 410)),
  );
};

const isForbidden = ({ subscriptions }: Scenario, id: string): boolean =>
  subscriptions.some(
    ({ id: other, answers }) =>
      other === id && [...answers.first, answers.then].some(({ says }) => says === 'forbidden'),
  );

/** All that were ever in force. */
const settingsOf = ({ settings, changes }: Scenario): SimulatedSettings[] => [
  settings,
  ...changes.flatMap((change) => (change.kind === 'settings' ? [{ ...settings, ...change.settings }] : [])),
];

/** Attempts put on record for a subscription. */
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

/** Whoever died or met a fault may not have come to note what came of it. */
const isUndisturbed = ({ actor }: Write): boolean => actor.invocation.faults.length === 0;

/** Everything that was to be told was told, but of a subscription that is gone, or that nothing was sent to any more. */
const toldInTheEnd = (
  { history }: SimulatedWorld,
  value: Subscription | undefined,
  last: Subscription | undefined,
): Finding[] => {
  const unsent = value?.unsent;
  if (value === undefined || unsent === undefined || last === undefined) return [];
  const isTold = history.events.some(
    (told) =>
      told.type !== 'delivery.exhausted' && told.subscriptionId === value.id && isSame(told, unsent.event),
  );
  return isTold || last.unsent?.at === unsent.at
    ? []
    : [finding('operators_are_told', value.id, unsent.event.type)];
};

const isSame = (told: PendingEvent['event'], event: PendingEvent['event']): boolean =>
  told.type === event.type && momentOf(told) === momentOf(event);

const momentOf = (event: PendingEvent['event']): number => ('at' in event ? event.at : event.since);
