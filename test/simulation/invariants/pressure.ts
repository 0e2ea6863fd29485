import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { type PressureSignal, toPressureSignal } from '../../../shared/domain/subscription/back-pressure.ts';
import type { Pressure, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { isSwitchedOn } from '../../../shared/domain/subscription/switches.ts';
import type { SeenRequest } from '../history.ts';
import { MINUTE, type PlannedSubscription, SECOND } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import { type DeliveryCase, type Finding, type Invariant, recordOf, violation } from './delivery-case.ts';
import { isBack } from './health.ts';
import { validBetween } from './policy.ts';

type Versions = readonly Version<Subscription | undefined>[];
type Case = { world: SimulatedWorld; id: string; versions: Versions; requests: readonly SeenRequest[] };

/** A subscriber that is down gets one probe at a time, and all pressure has a cause. */
export const pressureIsKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    const requests = world.history.requests.filter(({ delivery }) => delivery.endsWith(`/${id}`));
    const one = { world, id, versions, requests };
    return [...oneProbeAtATime(one), ...versionsAreTrue(one)];
  });

/** The pressures that a request's invocation may have read; undefined: none, or its switch is off. */
const pressuresKnownTo = (
  { world, versions }: Case,
  { actor, at }: SeenRequest,
): (Pressure | undefined)[] => {
  const cachedMs = actor.work?.carriesMessage === true ? world.scenario.settings.cacheSeconds * SECOND : 0;
  return validBetween(versions, actor.startedAt - cachedMs, at).map((version) =>
    version?.pressure && isSwitchedOn(version.pressure, actor.settings) ? version.pressure : undefined,
  );
};

const isByHand = ({ actor }: SeenRequest): boolean => actor.work?.isAtOnce === true;

/** While a subscriber is held, a probe starts after the answer of the one before, by the clocks of their functions. */
const oneProbeAtATime = (one: Case): Finding[] => {
  const probes = one.requests.flatMap((request) => {
    const known = pressuresKnownTo(one, request);
    const version = new Set(known.map((pressure) => (pressure?.state === 'held' ? pressure.at : undefined)));
    const [at] = version;
    return version.size === 1 && at !== undefined && !isByHand(request) ? [{ version: at, request }] : [];
  });
  return [...Map.groupBy(probes, ({ version }) => version).values()].flatMap((same) =>
    same
      .filter(({ request }, index) => {
        const before = same[index - 1]?.request;
        if (before === undefined) return false;
        const answeredAt = before.answeredAt ?? before.at + SECOND;
        return request.at + request.actor.clockOffset < answeredAt + before.actor.clockOffset;
      })
      .map(({ request }) => violation('one_probe_at_a_time', request.delivery, `another at ${request.at}`)),
  );
};

/** After the record of a refusal its subscription is under pressure, unless a fault or a change intervened. */
export const refusalsAreHeard: Invariant = (one) =>
  one.requests
    .filter(({ reply, actor }) => isRefused(reply) && actor.settings.adaptToThrottling)
    .filter((request) => {
      const known = versionsAround(one, request);
      const isChanged = new Set(known.map((version) => version?.version)).size > 1;
      return !isChanged && known.length > 0 && known.every((version) => version?.pressure === undefined);
    })
    .map(({ at }) => violation('refusals_are_heard', one, `the one at ${at}`));

/** After the record of an answered probe its subscriber is no longer held, unless a fault or a change intervened. */
export const answersAreHeard: Invariant = (one) =>
  one.requests
    .filter(({ reply }) => toPressureSignal(reply) === 'answered')
    .filter((request) => {
      const known = versionsAround(one, request);
      return known.length === 1 && known[0]?.pressure?.state === 'held';
    })
    .map(({ at }) => violation('answers_are_heard', one, `the one at ${at}`));

/** The subscription while the result of a request was recorded; empty: a fault intervened, or it did not exist. */
const versionsAround = (one: DeliveryCase, request: SeenRequest): (Subscription | undefined)[] => {
  const write = recordOf(one, request);
  if (write === undefined || request.actor.invocation.faults.length > 0) return [];
  const versions = one.world.subscriptions.versionsOf(one.subscriptionId);
  const known = validBetween(versions, request.actor.startedAt - MINUTE, write.at + SECOND);
  return known.includes(undefined) ? [] : known;
};

/** Versions increase and follow from answers. */
const versionsAreTrue = (one: Case): Finding[] =>
  one.versions.flatMap(({ from, value }, index) => {
    const pressure = value?.pressure;
    const before = one.versions[index - 1]?.value;
    if (before === undefined || pressure === undefined || isSame(pressure, before)) return [];
    const follows = () => isLater(pressure, before) && isCaused(one, pressure, from);
    const isTrue = isBack(value, before) || follows();
    return isTrue ? [] : [violation('pressure_is_true', one.id, `${pressure.state}, version ${pressure.at}`)];
  });

const isSame = ({ at }: Pressure, { pressure }: Subscription): boolean => at === pressure?.at;

const isLater = ({ at }: Pressure, { pressure }: Subscription): boolean => at > (pressure?.at ?? 0);

const isCaused = ({ requests }: Case, pressure: Pressure, from: number): boolean =>
  isCause(pressure, undefined) ||
  requests.some(({ reply, answeredAt = Infinity }) => answeredAt <= from && isCause(pressure, reply));

const isRefused = (reply: SeenRequest['reply']): boolean => {
  const signal = toPressureSignal(reply);
  return signal === 'refused' || signal === 'closed';
};

const isCause = ({ state }: Pressure, reply: SeenRequest['reply'] | undefined): boolean => {
  const signals = CAUSES[state];
  const signal = reply && toPressureSignal(reply);
  return signals === undefined || (signal !== undefined && signals.includes(signal));
};

/** Undefined: needs none. */
const CAUSES: Partial<Record<Pressure['state'], readonly PressureSignal[]>> = {
  watched: ['refused', 'closed', 'down'],
  slowed: ['refused', 'closed'],
  held: ['refused', 'closed', 'down'],
};

const WINDOW_MS = 10 * SECOND;

/** Maximum time between reading the subscription and the request. */
const READ_BEFORE_MS = MAX_INVOCATION_MS;

/** Maximum time between an attempt's start and its arrival. */
const ON_THE_WAY_MS = 50;

/** 5 % above `max_per_second`; one request in ten seconds is always allowed. */
const maxRequestsIn = (windowMs: number, maxPerSecond: number): number =>
  Math.max(1, Math.floor((1.05 * maxPerSecond * windowMs) / SECOND));

/** No subscriber receives more requests in ten seconds than its subscription allows. */
export const ratesAreKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap((subscription) =>
    startsNewLine(world, subscription) ? [] : rateViolations(world, subscription),
  );

/** A subscription with a new URL, or enabled again, starts a new line. */
const startsNewLine = ({ scenario }: SimulatedWorld, { id }: PlannedSubscription): boolean =>
  scenario.changes.some(
    (change) =>
      (change.kind === 'subscription_url' || change.kind === 'subscription_enabled') && change.id === id,
  );

const rateViolations = (world: SimulatedWorld, { id }: PlannedSubscription): Finding[] => {
  const { scenario, history, subscriptions } = world;
  const versions = subscriptions.versionsOf(id);
  if (versions.every(({ value }) => value?.options.max_per_second === undefined)) return [];
  const times = history.requests
    .filter(({ delivery }) => delivery.endsWith(`/${id}`))
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  return times.flatMap((from, index) => {
    const found = times.slice(index).filter((at) => at < from + WINDOW_MS).length;
    const known = validBetween(versions, from - READ_BEFORE_MS, from + WINDOW_MS);
    const limits = new Set(known.map((version) => version?.options.max_per_second ?? Infinity));
    const pressures = new Set(
      known.flatMap((version) => (version?.pressure === undefined ? [] : version.pressure.at)),
    );
    const most = maxAllowed(Math.max(...limits), limits.size + pressures.size, scenario.skewMs);
    if (found <= most) return [];
    const detail = `${found} requests in the ten seconds from ${from}, at ${[...limits].join()} a second`;
    return [violation('rates_are_kept', id, detail)];
  });
};

/** Each limit and each pressure has a separate line. Clock differences can bring slots together. */
const maxAllowed = (maxPerSecond: number, lines: number, skewMs: number): number => {
  if (maxPerSecond === Infinity) return Infinity;
  if (skewMs === 0 && lines === 1) return maxRequestsIn(WINDOW_MS, maxPerSecond);
  return lines + maxRequestsIn(WINDOW_MS + 2 * skewMs + ON_THE_WAY_MS, maxPerSecond);
};
