import { expect, it } from 'vitest';
import type { Revision, Transition } from '../../shared/domain/delivery/delivery.ts';
import { withPull } from './generate-variants.ts';
import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { runScenario } from './run-scenario.ts';
import { FIRST_SEED, itCatches, writing } from './sabotage.ts';

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 50;

const isReceive = (transition: Transition): transition is Revision =>
  transition.name === 'claim' && transition.expect.kind === 'overdue_at' && 'change' in transition;

it('with consumers that crash or come too late nothing is lost, received early, or twice within a lease', async () => {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + CORRECT_RUNS; seed += 1) {
    const { world, findings: found } = await runScenario(withPull(generateScenario(seed)));
    findings.push(...found);
    for (const { answer, result = 'unanswered' } of world.history.pullAnswers)
      seen.add(`${answer}: ${result}`);
    for (const { transition, after } of world.history.writes)
      if (transition.name === 'record') seen.add(String(after.attempts.at(-1)?.result.kind));
  }
  expect(findings).toEqual([]);
  // Without these events the simulation proves nothing.
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'acknowledged: recorded',
      'refused: recorded',
      'acknowledged: expired',
      'refused: expired',
      'lapsed',
      'refused',
    ]),
  );
});

itCatches({
  'in which two receives can take the same delivery': {
    by: 'received_once_per_lease',
    seed: 0,
    among: withPull,
    ...writing((transition, { deliveries }) =>
      isReceive(transition) ? deliveries.write({ ...transition, expect: { kind: 'present' } }) : undefined,
    ),
  },

  'in which reconcile does not notice a lapsed lease, because what is received leaves the index': {
    by: 'everything_ends',
    seed: 0,
    among: withPull,
    ...writing((transition, { deliveries }) =>
      isReceive(transition)
        ? deliveries.write({ ...transition, change: { ...transition.change, overdueAt: null } })
        : undefined,
    ),
  },

  'in which a failed delivery can be received again before its policy allows it': {
    by: 'received_when_due',
    seed: 9,
    among: withPull,
    ...writing((transition, { deliveries, clock }) =>
      transition.name === 'record' &&
      'change' in transition &&
      'next' in transition.change &&
      transition.change.next?.by === 'pull'
        ? deliveries.write({ ...transition, change: { ...transition.change, overdueAt: clock.now() } })
        : undefined,
    ),
  },
});
