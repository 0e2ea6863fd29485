import { describe, expect, it } from 'vitest';
import { withPull } from './generate-pull.ts';
import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { FIRST_SEED, isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { withWrite } from './sabotage.ts';
import type { Sabotage } from './simulated-world.ts';

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 100;

/** A receive takes what the index shows, even if another receive took it in the meantime. */
const receivedByBoth: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) =>
      transition.name === 'claim' && transition.expect.kind === 'overdue_at' && 'change' in transition
        ? ports.deliveries.write({ ...transition, expect: { kind: 'present' } })
        : ports.deliveries.write(transition),
    ),
};

/** A received delivery leaves the index, so reconcile does not notice the end of its lease. */
const lapseUnnoticed: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) =>
      transition.name === 'claim' && transition.expect.kind === 'overdue_at' && 'change' in transition
        ? ports.deliveries.write({ ...transition, change: { ...transition.change, overdueAt: null } })
        : ports.deliveries.write(transition),
    ),
};

/** A failed delivery can be received at once, before its policy allows it. */
const receivedEarly: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) =>
      transition.name === 'record' &&
      'change' in transition &&
      'next' in transition.change &&
      transition.change.next?.by === 'pull'
        ? ports.deliveries.write({
            ...transition,
            change: { ...transition.change, overdueAt: ports.clock.now() },
          })
        : ports.deliveries.write(transition),
    ),
};

describe('with consumers that acknowledge, refuse, forget, come too late and crash', () => {
  it('nothing is lost, nothing is received twice without a lapsed lease, and nothing early', async () => {
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
});

describe('the simulation catches a pipeline', () => {
  it.each([
    ['in which two receives can take the same delivery', receivedByBoth, 'received_once_per_lease'],
    ['in which reconcile does not notice a lapsed lease', lapseUnnoticed, 'everything_ends'],
    ['in which a delivery is received before it is due', receivedEarly, 'received_when_due'],
  ])('%s', async (_what, sabotage, invariant) => {
    expect(await isCaught(sabotage, invariant, 100, withPull)).toBe(true);
  });
});
