import { describe, expect, it } from 'vitest';
import type { Chunks } from '../../shared/ports/deliveries.ts';
import type { StepPorts } from './faulty-ports.ts';
import { withNoisySubscriber } from './generate-changes.ts';
import { generateScenario } from './generate-scenario.ts';
import { findingsIn, isCaught, withoutFaults } from './is-caught.ts';
import { reachedBy } from './reached.ts';
import { runScenario } from './run-scenario.ts';
import { groupsForgotten } from './sabotage.ts';
import { HOUR, type Intervention, MINUTE, type Scenario, SECOND } from './scenario.ts';
import { withTokens } from './simulated-tokens.ts';
import type { Sabotage } from './simulated-world.ts';
import { isClean, summaryOf } from './summary.ts';

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 60;

/** Sends every message to every subscription, during its first attempts, soon after, and again much later. */
const withSends = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, retainMessages: 'all' },
  interventions: scenario.messages.flatMap((message) =>
    scenario.subscriptions.flatMap(({ id }): Intervention[] =>
      [2 * SECOND, 3 * MINUTE, 3 * MINUTE, 5 * HOUR].map((afterMs) => ({
        kind: 'send',
        messageId: message.id,
        subscriptionId: id,
        at: message.at + afterMs,
      })),
    ),
  ),
});

const withAdd = (ports: StepPorts, add: Chunks['add']): StepPorts => {
  const { chunks } = ports;
  return {
    ...ports,
    chunks: {
      write: (transition) => chunks.write(transition),
      find: (key) => chunks.find(key),
      takeOut: (transition, delivery) => chunks.takeOut(transition, delivery),
      add,
    },
  };
};

/** The delivery is recorded, but its message does not count it. */
const addedWithoutCount: Sabotage = {
  ports: (ports) =>
    withAdd(ports, async (delivery) => {
      const { key } = delivery;
      const sending = { name: 'send', key, expect: { kind: 'absent' }, create: delivery } as const;
      return (await ports.deliveries.write(sending)).kind === 'written' ? 'added' : 'refused';
    }),
};

/** The message counts a delivery whose record comes second, and may not come. */
const countedBeforeAdded: Sabotage = {
  ports: (ports, { countMatch }) =>
    withAdd(ports, async (delivery) => {
      countMatch(delivery);
      const { key } = delivery;
      const sending = { name: 'send', key, expect: { kind: 'absent' }, create: delivery } as const;
      return (await ports.deliveries.write(sending)).kind === 'written' ? 'added' : 'refused';
    }),
};

describe('the simulation catches a manual send', () => {
  it.each([
    ['does not count its delivery', addedWithoutCount],
    ['counts its delivery before it is recorded: a crash leaves the books wrong', countedBeforeAdded],
  ])('that %s', async (_what, sabotage) => {
    expect(await isCaught(sabotage, 'matched_count_is_right', 300, withSends)).toBe(true);
  });

  it('and finds nothing in the correct one', async () => {
    expect(await findingsIn(CORRECT_RUNS, withSends)).toEqual([]);
  });
});

const quietly = (scenario: Scenario): Scenario => withoutFaults(withNoisySubscriber(scenario));

describe('subscribers beside one with a backlog, on few concurrent invocations', () => {
  it('lose nothing, with any faults', async () => {
    expect(
      await findingsIn(15, (scenario) => ({ ...withNoisySubscriber(scenario), rates: scenario.rates })),
    ).toEqual([]);
  });

  it('are served by the first invocation that is over, without faults', async () => {
    expect(await findingsIn(30, quietly)).toEqual([]);
  });

  it('wait for the whole backlog if messages have no groups, and the simulation catches it', async () => {
    expect(await isCaught(groupsForgotten, 'nothing_late', 20, quietly)).toBe(true);
  });
});

const SCENARIOS = 60;

it('attempts without a token are recorded, retried and counted as lost like others', async () => {
  const failed: number[] = [];
  let reached = 0;
  for (let seed = 0; seed < SCENARIOS; seed += 1) {
    const outcome = await runScenario(withTokens(generateScenario(seed)));
    if (!isClean(summaryOf(outcome))) failed.push(seed);
    if (reachedBy(outcome.world).has('attempt without a token')) reached += 1;
  }
  expect(failed).toEqual([]);
  expect(reached).toBeGreaterThan(SCENARIOS / 4);
});
