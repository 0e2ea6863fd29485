import { describe, expect, it } from 'vitest';
import type { Chunks } from '../../shared/ports/deliveries.ts';
import { findingsIn, isCaught } from './is-caught.ts';
import type { StepPorts } from './ports.ts';
import { HOUR, MINUTE, SECOND, type Intervention, type Scenario } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

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
