import { expect, it } from 'vitest';
import type { ListedSubscription } from '../../shared/domain/subscription/subscription.ts';
import { generateScenario } from './generate-scenario.ts';
import { withPauses, withRestorations } from './generate-variants.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { runScenario } from './run-scenario.ts';
import { FIRST_SEED, itCatches, replaced, replacing } from './sabotage.ts';
import type { Scenario } from './scenario.ts';
import type { Sabotage, SimulatedWorld } from './simulated-world.ts';

/** Runs of the correct pipeline: three of four also with pauses. */
const CORRECT_RUNS = 40;

const paused = (scenario: Scenario): Scenario => withRestorations(withPauses(scenario));

const seenIn = ({ scenario, subscriptions, history }: SimulatedWorld): string[] => [
  ...scenario.subscriptions.flatMap(({ id }) =>
    subscriptions.versionsOf(id).flatMap(({ value }) => (value?.restored ? ['restored'] : [])),
  ),
  ...history.writes.map(({ transition, before }) => `${transition.name} ${before?.reason ?? ''}`),
];

it('with deletions that are restored nothing is lost, and nothing is sent between them', async () => {
  const findings: Finding[] = [];
  const seen: string[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + CORRECT_RUNS; seed += 1) {
    const among = seed % 4 === 0 ? withRestorations : paused;
    const { world, findings: found } = await runScenario(among(generateScenario(seed)));
    findings.push(...found.map((one) => ({ ...one, subject: `${seed}: ${one.subject}` })));
    seen.push(...seenIn(world));
  }
  expect(findings).toEqual([]);
  // Without these events the simulation proves nothing.
  const needed = ['restored', 'reopen queue_deleted', 'reopen subscription_deleted', 'end_wait '];
  expect(needed.filter((what) => seen.filter((each) => each === what).length < 5)).toEqual([]);
});

const listing = (see: (listed: readonly ListedSubscription[]) => ListedSubscription[]): Sabotage =>
  replacing('subscriptions', (subscriptions) => ({
    page: async (...asked) => {
      const page = await subscriptions.page(...asked);
      return page && { ...page, subscriptions: see(page.subscriptions) };
    },
  }));

const overlooking = (member: 'deletedAt' | 'restorableUntil'): Sabotage =>
  replacing('subscriptions', (subscriptions) => ({
    find: async (...asked) => {
      const { queue, subscription } = await subscriptions.find(...asked);
      if (subscription === undefined) return { queue, subscription };
      const { [member]: _overlooked, ...seen } = subscription;
      return { queue, subscription: seen };
    },
  }));

itCatches({
  'whose messages do not reach a restored subscription': {
    by: 'everything_ends',
    seed: 7,
    among: withRestorations,
    ...listing((listed) => listed.filter(({ restored }) => restored === undefined)),
  },
  'that forgets when a subscription was deleted, and sends it what was accepted meanwhile': {
    by: 'only_matches_get_a_message',
    seed: 121,
    among: withRestorations,
    ...listing((listed) => listed.map(({ restored: _forgotten, ...rest }) => rest)),
  },
  'whose cancellation goes on after the restoration': {
    by: 'cancelled_for_a_reason',
    seed: 10,
    among: withRestorations,
    ports: (ports, { actor }) => {
      const nothing = () => Promise.resolve(undefined);
      return actor.name.startsWith('operation:cancellation')
        ? replaced(ports, 'registry', { findQueue: nothing, findSubscription: nothing })
        : ports;
    },
  },
  'whose restored queue leaves what waits after its pause': {
    by: 'everything_ends',
    seed: 2,
    among: paused,
    ...replacing('operations', (operations, _ports, { actor }) => ({
      send: (operation, delaySeconds) =>
        operation.kind === 'pause' && actor.name.startsWith('operation:restoration')
          ? Promise.resolve()
          : operations.send(operation, delaySeconds),
    })),
  },
  'that does not see a deletion': {
    by: 'no_request_while_deleted',
    seed: 5,
    among: withRestorations,
    ...overlooking('deletedAt'),
  },
  'that keeps no data of what a deletion cancels': {
    by: 'what_a_deletion_cancelled_is_reopened',
    seed: 51,
    among: withRestorations,
    ...overlooking('restorableUntil'),
  },
});
