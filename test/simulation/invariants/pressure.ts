import { pressureSignalOf } from '../../../shared/domain/subscription/recent-results.ts';
import { isSwitchedOn } from '../../../shared/domain/subscription/switches.ts';
import type { Pressure, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { SeenRequest } from '../history.ts';
import { MINUTE, SECOND } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import { recordOf, violation, type Finding, type Invariant } from './delivery-case.ts';
import { validBetween } from './policy.ts';

type Versions = readonly Version<Subscription | undefined>[];
type Case = { world: SimulatedWorld; id: string; versions: Versions; requests: readonly SeenRequest[] };

/** A subscriber that throttles or is down gets no more requests than it asks for, and not for longer than needed. */
export const pressureIsKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    const requests = world.history.requests.filter(({ delivery }) => delivery.endsWith(`/${id}`));
    const one = { world, id, versions, requests };
    return [...nothingWhileClosed(one), ...oneProbeAtATime(one), ...versionsAreTrue(one)];
  });

const finding = (invariant: string, subject: string, detail: string): Finding => ({
  kind: 'violation',
  invariant,
  subject,
  detail,
});

/** The pressures that a request's invocation may have read; undefined: none, or its switch is off. */
const pressuresKnownTo = (
  { world, versions }: Case,
  { actor, at }: SeenRequest,
): (Pressure | undefined)[] => {
  const cachedMs = actor.work?.carriesMessage === true ? world.scenario.settings.cacheSeconds * SECOND : 0;
  return validBetween(versions, actor.startedAt - cachedMs, at).map((version) =>
    version?.pressure && isSwitchedOn(version.pressure.reason, actor.settings) ? version.pressure : undefined,
  );
};

const isByHand = ({ actor }: SeenRequest): boolean => actor.work?.isAtOnce === true;

/** No request starts before the line opens, if its invocation read the subscription after the line was closed. */
const nothingWhileClosed = (one: Case): Finding[] =>
  one.requests
    .filter((request) => !isByHand(request))
    .filter((request) => {
      const now = request.at + request.actor.clockOffset;
      const known = pressuresKnownTo(one, request);
      return known.every((pressure) => pressure?.ended === undefined && (pressure?.opensAt ?? 0) > now);
    })
    .map(({ delivery, at }) => finding('nothing_while_closed', delivery, `a request at ${at}`));

/** While a circuit is open, a probe starts after the answer of the one before. */
const oneProbeAtATime = (one: Case): Finding[] => {
  const probes = one.requests.flatMap((request) => {
    const known = pressuresKnownTo(one, request);
    const version = new Set(known.map((pressure) => (isOpen(pressure) ? pressure?.at : undefined)));
    const [at] = version;
    return version.size === 1 && at !== undefined && !isByHand(request) ? [{ version: at, request }] : [];
  });
  return [...Map.groupBy(probes, ({ version }) => version).values()].flatMap((same) =>
    same
      .filter(({ request }, index) => {
        const before = same[index - 1]?.request;
        return before !== undefined && request.at < (before.answeredAt ?? before.at + SECOND);
      })
      .map(({ request }) => finding('one_probe_at_a_time', request.delivery, `another at ${request.at}`)),
  );
};

const isOpen = (pressure: Pressure | undefined): boolean =>
  pressure !== undefined && pressure.perSecond === undefined && pressure.ended === undefined;

/** After the record of a refusal its subscription is under pressure, unless a fault or a change intervened. */
export const refusalsAreHeard: Invariant = (one) =>
  one.requests
    .filter(({ reply, actor }) => pressureSignalOf(reply) === 'throttled' && actor.settings.adaptToThrottling)
    .flatMap((request) => {
      const write = recordOf(one, request);
      if (write === undefined || request.actor.invocation.faults.length > 0) return [];
      const versions = one.world.subscriptions.versionsOf(one.subscriptionId);
      const known = validBetween(versions, request.actor.startedAt - MINUTE, write.at + SECOND);
      const isChanged = new Set(known.map((version) => version?.changedAt)).size > 1;
      const isHeard = known.some((version) => version?.pressure !== undefined);
      return isChanged || isHeard || known.includes(undefined)
        ? []
        : [violation('refusals_are_heard', one, `the one at ${request.at}`)];
    });

/** Versions increase, close the line for no longer than the cap, and follow from answers. */
const versionsAreTrue = (one: Case): Finding[] =>
  one.versions.flatMap(({ from, value }, index) => {
    const pressure = value?.pressure;
    const before = one.versions[index - 1]?.value?.pressure;
    if (pressure === undefined || pressure.at === before?.at) return [];
    const faults = [
      ...faultsOf(one, pressure, from),
      ...(isLater(pressure, before) ? [] : ['an old version']),
    ];
    return faults.map((detail) => finding('pressure_is_true', one.id, detail));
  });

const isLater = ({ at }: Pressure, before: Pressure | undefined): boolean => at > (before?.at ?? 0);

const faultsOf = ({ world, requests }: Case, pressure: Pressure, from: number): string[] => {
  const { settings, changes, skewMs } = world.scenario;
  const caps = [settings, ...changes.map((change) => (change.kind === 'settings' ? change.settings : {}))];
  const longestMs = Math.max(SECOND, ...caps.map(({ retryAfterCapMs = 0 }) => retryAfterCapMs)) + skewMs;
  const closedMs = pressure.opensAt - from;
  const isCaused = requests.some(
    ({ reply, answeredAt = Infinity }) => answeredAt <= from && isCause(pressure, reply),
  );
  return [
    ...(closedMs > longestMs ? [`closed for ${closedMs} ms`] : []),
    ...(isCaused ? [] : [`${pressure.reason} without a cause`]),
  ];
};

/** A 503 with `Retry-After` is an outage where the subscription does not adapt to refusals. */
const isCause = ({ reason }: Pressure, reply: SeenRequest['reply']): boolean => {
  const signal = pressureSignalOf(reply);
  return reason === 'receiver_throttled'
    ? signal === 'throttled'
    : signal === 'down' || (reply.kind === 'answered' && reply.statusCode === 503);
};
