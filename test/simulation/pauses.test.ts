import { expect, it } from 'vitest';
import { generateScenario } from './generate-scenario.ts';
import { withPauses } from './generate-variants.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { runScenario } from './run-scenario.ts';
import { FIRST_SEED, itCatches, replacing } from './sabotage.ts';

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 50;

it('with pauses that are resumed or end by themselves nothing is lost, and nothing is sent during them', async () => {
  const findings: Finding[] = [];
  const seen = new Map<string, number>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + CORRECT_RUNS; seed += 1) {
    const { world, findings: found } = await runScenario(withPauses(generateScenario(seed)));
    findings.push(...found.map((one) => ({ ...one, subject: `${seed}: ${one.subject}` })));
    for (const { transition } of world.history.writes)
      seen.set(transition.name, 1 + (seen.get(transition.name) ?? 0));
  }
  expect(findings).toEqual([]);
  // Without these events the simulation proves nothing.
  expect(seen.get('await_resume')).toBeGreaterThan(50);
  expect(seen.get('end_wait')).toBeGreaterThan(50);
});

itCatches({
  'that does not see a pause': {
    by: 'no_request_in_a_pause',
    seed: 3,
    among: withPauses,
    ...replacing('subscriptions', (subscriptions) => ({
      find: async (...asked) => {
        const { queue, subscription } = await subscriptions.find(...asked);
        return {
          queue: queue && { ...queue, pauses: [] },
          subscription: subscription && { ...subscription, pauses: [] },
        };
      },
    })),
  },
  'that looks for what waits only until an index is a minute behind': {
    by: 'everything_ends',
    seed: 53,
    among: withPauses,
    ...replacing('operations', (operations) => ({
      send: (operation, delaySeconds) =>
        operation.kind === 'pause' && operation.looks === 2
          ? Promise.resolve()
          : operations.send(operation, delaySeconds),
    })),
  },
});
