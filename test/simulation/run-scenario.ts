import { moveTo } from '../../shared/domain/subscription/change.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { findingsOf } from './invariants/findings.ts';
import { byHand } from './interventions.ts';
import { copiesOf } from './planned-message.ts';
import {
  DAY,
  HOUR,
  QUEUE,
  SECOND,
  START,
  type PlannedChange,
  type PlannedSubscription,
  type Scenario,
} from './scenario.ts';
import { reconcileEveryMinute, simulatedFunctions } from './simulated-functions.ts';
import { simulatedWorld, type RunOptions, type SimulatedWorld } from './simulated-world.ts';

/** What came of one run. */
export type Outcome = { world: SimulatedWorld; findings: readonly Finding[] };

/** Longer than any schedule, with every fault that may delay it. */
const LONGEST_RUN_MS = 100 * DAY;

/** Runs a scenario until nothing is left to happen, brings the dead letters back, and judges what the receivers saw. */
export const runScenario = async (scenario: Scenario, options: RunOptions = {}): Promise<Outcome> => {
  const world = simulatedWorld(scenario, options, simulatedFunctions);
  const { look } = reconcileEveryMinute(world);
  world.deliveries.onIndexed(look);
  plan(world);
  let end = await world.time.runOut(START + LONGEST_RUN_MS);
  // A person redrives what our own faults have put aside; then nothing may be missing any more.
  while (end === 'quiet' && redrive(world)) end = await world.time.runOut(START + LONGEST_RUN_MS);
  return { world, findings: findingsOf(world, end) };
};

const redrive = ({ queues }: SimulatedWorld): boolean => {
  const all = [queues.ingress, queues.delivery, queues.retry];
  const letters = all.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  for (const queue of all) queue.redrive();
  return letters > 0;
};

const plan = (world: SimulatedWorld): void => {
  const { scenario, time, subscriptions } = world;
  subscriptions.putQueue(scenario.queuePolicy);
  for (const planned of scenario.subscriptions) {
    const subscription = subscriptionOf(world, planned);
    if (planned.at < 0) subscriptions.put(subscription);
    else
      time.at(START + planned.at, () => {
        subscriptions.put(subscription);
      });
  }
  for (const change of scenario.changes)
    time.at(START + change.at, () => {
      makeChange(world, change);
    });
  const { intervene } = byHand(world);
  for (const intervention of scenario.interventions)
    time.at(START + intervention.at, () => {
      intervene(intervention);
    });
  for (const message of scenario.messages)
    for (const copy of copiesOf(message))
      time.at(copy.sentAt, () => {
        world.queues.ingress.send(copy, 0, `${message.id}@${copy.sentAt - START}`);
      });
};

const subscriptionOf = ({ receivers }: SimulatedWorld, planned: PlannedSubscription): Subscription => {
  const { id, policy, rawDelivery, maxPerSecond, ttlSeconds, failures } = planned;
  const createdAt = START + planned.at;
  return {
    id,
    queue: QUEUE,
    subscriber: receivers.addressOf(id, 0),
    options: {
      ...(policy === undefined ? {} : { _retry_policy: policy }),
      ...(rawDelivery ? { raw_delivery: true } : {}),
      ...(maxPerSecond === undefined ? {} : { max_per_second: maxPerSecond }),
    },
    createdAt,
    secrets: [{ sealed: id }],
    ...(failures === 0 ? {} : { failing: { since: START - HOUR, failures } }),
    ...(ttlSeconds === undefined ? {} : { expiresAt: createdAt + ttlSeconds * SECOND }),
  };
};

const makeChange = (world: SimulatedWorld, change: PlannedChange): void => {
  const { subscriptions } = world;
  world.history.trace?.push(`${world.time.now()} changed: ${change.kind}`);
  switch (change.kind) {
    case 'queue_policy':
      if (subscriptions.queueVersions.at(-1)?.value !== undefined) subscriptions.putQueue(change.policy);
      return;
    case 'queue_deleted':
      subscriptions.deleteQueue();
      return;
    case 'queue_recreated':
      subscriptions.deleteQueue();
      world.time.at(world.time.now() + change.afterMs, () => {
        subscriptions.putQueue(world.scenario.queuePolicy);
      });
      return;
    case 'settings':
      world.settings = { ...world.settings, ...change.settings };
      return;
    case 'subscription_deleted':
      subscriptions.delete(change.id);
      return;
    case 'subscription_disabled':
      subscriptions.disable(change.id);
      return;
    case 'subscription_enabled':
      subscriptions.enable(change.id);
      return;
    case 'subscription_policy':
    case 'subscription_url':
      changeSubscription(world, change);
  }
};

type SubscriptionChange = Extract<PlannedChange, { kind: 'subscription_policy' | 'subscription_url' }>;

const changeSubscription = (
  { subscriptions, receivers, time }: SimulatedWorld,
  change: SubscriptionChange,
): void => {
  const known = subscriptions.find(change.id);
  if (known === undefined) return;
  if (change.kind === 'subscription_url') {
    const version = subscriptions.versionsOf(change.id).length;
    subscriptions.put(moveTo(receivers.addressOf(change.id, version), known, time.now()));
    return;
  }
  const options = { ...known.options };
  if (change.policy === undefined) delete options._retry_policy;
  else options._retry_policy = change.policy;
  subscriptions.put({ ...known, options });
};
