import { isDeepStrictEqual } from 'node:util';
import type { PartialRetryPolicy, RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { SECOND, type SimulatedSettings } from '../scenario.ts';
import type { Version } from '../subscription-store.ts';
import type { Write } from '../history.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

/** A round follows the policy that was in force at its first failure, regardless of later changes. */
export const policyIsKept: Invariant = (one) => {
  const rounds = Map.groupBy(one.writes, ({ after }) => after.round);
  return [...rounds.values()].flatMap((writes) => keptInRound(one, writes));
};

const keptInRound = (one: DeliveryCase, writes: readonly Write[]): Finding[] => {
  const first = writes.findIndex(({ after }) => after.policy !== undefined);
  const write = writes[first];
  const kept = write?.after.policy;
  if (write === undefined || kept === undefined) return [];
  const changed = writes.slice(first).some(({ after }) => !isDeepStrictEqual(after.policy, kept));
  if (changed) return [violation('policy_is_kept', one, 'the stored policy changed')];
  const inForce = policiesInForce(one, write);
  return inForce.some((policy) => isDeepStrictEqual(policy, kept))
    ? []
    : [violation('policy_was_in_force', one, JSON.stringify(kept))];
};

/** Every policy that may have been read for the attempt, between the earliest possible read and its record. */
const policiesInForce = ({ world, subscriptionId }: DeliveryCase, { actor, at }: Write): RetryPolicy[] => {
  const from = actor.startedAt - world.scenario.settings.cacheSeconds * SECOND;
  const queues = validBetween(world.subscriptions.queueVersions, from, at).map((queue) => queue?.retryPolicy);
  const bySubscription = validBetween(world.subscriptions.versionsOf(subscriptionId), from, at).map(
    (subscription) => subscription?.options._retry_policy,
  );
  return queues.flatMap((queue) =>
    bySubscription.map((subscription) => expectedPolicy(queue, subscription, actor.settings)),
  );
};

/** The values of all versions that were current at some time in the window. */
export const validBetween = <T>(versions: readonly Version<T>[], from: number, to: number): T[] =>
  versions
    .filter((version, index) => version.from <= to && (versions[index + 1]?.from ?? Infinity) >= from)
    .map(({ value }) => value);

/** Which policy applies (docs/retry-policy.md). Written independently of the code under test. */
const expectedPolicy = (
  queue: PartialRetryPolicy | undefined,
  subscription: PartialRetryPolicy | undefined,
  { defaultRetryPolicy: defaults, retryThrottled, adaptToThrottling }: SimulatedSettings,
): RetryPolicy => {
  const forced =
    queue !== undefined && (queue.ignore_subscription_override ?? defaults.ignore_subscription_override);
  const chosen = { ...defaults, ...(forced ? queue : (subscription ?? queue)) };
  const adds429 = (retryThrottled || adaptToThrottling) && !chosen.retry_on_status.includes(429);
  return {
    ...chosen,
    maximum_delay: Math.max(chosen.maximum_delay, chosen.minimum_delay),
    retry_on_status: [...chosen.retry_on_status, ...(adds429 ? [429] : [])],
  };
};
