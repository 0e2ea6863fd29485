import { addSubscription } from '../support/add-subscription.ts';
import { pullConsumers } from './consumers.ts';
import { makeChange, queueOf } from './changes.ts';
import { requestConfirmation, planConfirmations } from './confirmations.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { findingsOf } from './invariants/findings.ts';
import { intervene } from './interventions.ts';
import { copiesOf, DAY, START, type PlannedSubscription, type Scenario } from './scenario.ts';
import { subscriptionOf } from './planned-subscription.ts';
import { simulatedApi, type SimulatedApi } from './simulated-api.ts';
import { reconcileEveryMinute, simulatedFunctions } from './simulated-functions.ts';
import { simulatedWorld, type RunOptions, type SimulatedWorld } from './simulated-world.ts';

/** The result of one run. */
export type Outcome = { world: SimulatedWorld; findings: readonly Finding[] };

/** Longer than any schedule with all delays by faults. */
const LONGEST_RUN_MS = 100 * DAY;

/** Runs a scenario to its end, redrives the dead letters, and checks all invariants. */
export const runScenario = async (scenario: Scenario, options: RunOptions = {}): Promise<Outcome> => {
  const world = simulatedWorld(scenario, options, simulatedFunctions);
  const { look } = reconcileEveryMinute(world);
  const api = simulatedApi(world);
  const { lookForWaiting } = pullConsumers(world, api);
  world.deliveries.onIndexed(() => {
    look();
    lookForWaiting();
  });
  plan(world, api);
  let end = await world.time.runOut(START + LONGEST_RUN_MS);
  // An operator redrives the dead letters; after that nothing may be missing.
  while (end === 'quiet' && redrive(world)) end = await world.time.runOut(START + LONGEST_RUN_MS);
  return { world, findings: findingsOf(world, end) };
};

const redrive = ({ queues }: SimulatedWorld): boolean => {
  const all = Object.values(queues);
  const count = all.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  for (const queue of all) queue.redrive();
  return count > 0;
};

const plan = (world: SimulatedWorld, api: SimulatedApi): void => {
  const { scenario, time, queues } = world;
  const { registry } = world.subscriptions;
  void registry.putQueue(queueOf(scenario.queuePolicy, START));
  for (const planned of scenario.subscriptions) {
    if (planned.at < 0) void addSubscription(registry, subscribed(world, planned, START + planned.at));
    else
      time.at(START + planned.at, () => {
        subscribe(world, api, planned);
      });
  }
  planConfirmations(world, api);
  for (const change of scenario.changes)
    time.at(START + change.at, () => {
      makeChange(world, api, change);
    });
  for (const intervention of scenario.interventions)
    time.at(START + intervention.at, () => {
      intervene(api, intervention);
    });
  for (const message of scenario.messages)
    for (const copy of copiesOf(message))
      time.at(copy.sentAt, () => {
        queues.ingress.send(copy, 0, `${message.id}@${copy.sentAt - START}`);
      });
};

/** Repeats the request until the queue exists. */
const subscribe = (world: SimulatedWorld, api: SimulatedApi, planned: PlannedSubscription): void => {
  api.retryUntilAnswered(`subscribe ${planned.id}`, async (context) => {
    await addSubscription(context.registry, subscribed(world, planned, context.clock.now()));
    await requestConfirmation(context, planned.id);
  });
};

const subscribed = (world: SimulatedWorld, planned: PlannedSubscription, createdAt: number) =>
  subscriptionOf(planned, {
    subscriber: planned.pull === true ? `pull:${planned.id}` : world.receivers.newAddressOf(planned.id),
    createdAt,
  });
