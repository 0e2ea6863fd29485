import { FAILURES_IN_ALL, INVOCATION_MS } from '../../../shared/domain/subscription-health.ts';
import type { Subscription, Unsent } from '../../../shared/domain/subscription.ts';
import type { Write } from '../history.ts';
import { MINUTE, SECOND, type Scenario, type SimulatedSettings } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import type { Finding } from './delivery-case.ts';

/** What is said of a subscription is true, and nobody is disabled as failing who was not. */
export const healthIsTrue = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    return versions.flatMap((version, index) => [
      ...disabledForAReason(world, version, versions[index - 1]?.value),
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
  const before = world.scenario.subscriptions.find((one) => one.id === id)?.failures ?? 0;
  const failures = results(world, id, { from: since - MINUTE, to: at }).filter(isFailure).length;
  // What came within the last second may not have been noted yet.
  const noted = { from: since + cachedMs + INVOCATION_MS, to: at - SECOND };
  const successes = results(world, id, noted).filter((write) => !isFailure(write) && isUndisturbed(write));
  return [
    ...(at - since < shortest - 2 * world.scenario.skewMs ? [`after ${at - since} ms`] : []),
    ...(before + failures < FAILURES_IN_ALL ? [`after ${before + failures} failures`] : []),
    ...successes.map((success) => `though ${success.delivery} succeeded at ${success.at}, since ${since}`),
  ];
};

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
  if ('create' in transition) return false;
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

const isSame = (told: Unsent['event'], event: Unsent['event']): boolean =>
  told.type === event.type && momentOf(told) === momentOf(event);

const momentOf = (event: Unsent['event']): number => ('at' in event ? event.at : event.since);
