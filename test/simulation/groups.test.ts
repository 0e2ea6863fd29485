import { describe, expect, it } from 'vitest';
import { withNoisySubscriber } from './generate-noise.ts';
import { findingsIn, isCaught, withoutFaults } from './is-caught.ts';
import { groupsForgotten } from './sabotage.ts';
import type { Scenario } from './scenario.ts';

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
