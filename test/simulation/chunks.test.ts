import { describe, expect, it } from 'vitest';
import { isSuccess, type ChunkTransition } from '../../shared/domain/delivery/chunk.ts';
import type { ChunkResult } from '../../shared/ports/deliveries.ts';
import { cancelledMeanwhile } from './cancelled-meanwhile.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import {
  claimGivenToTwo,
  lostWithItsHolderUncounted,
  recordedForgotten,
  successesNotRecorded,
  takenOutUntold,
} from './sabotage-chunks.ts';
import type { Scenario } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** What came to pass of chunks in all runs that it is put into; it changes nothing. */
const observer = () => {
  const seen: Partial<Record<string, number>> = {};
  const count = (what: string): void => {
    seen[what] = (seen[what] ?? 0) + 1;
  };
  const noted = ({ expect: expected, change }: ChunkTransition, { kind }: ChunkResult): void => {
    count(`${expected.kind} ${kind}`);
    const { claim, standings } = change;
    if (kind === 'written' && claim !== undefined && claim.members.length > 1) count('claimed for several');
    const successes = [...(standings?.values() ?? [])].filter(isSuccess);
    if (kind === 'written' && successes.length > 1) count('recorded together');
  };
  const observing: Sabotage = {
    ports: (ports) => {
      const { chunks } = ports;
      return {
        ...ports,
        chunks: {
          write: async (transition) => {
            const result = await chunks.write(transition);
            noted(transition, result);
            return result;
          },
          find: (key) => chunks.find(key),
          takeOut: async (transition, delivery) => {
            const result = await chunks.takeOut(transition, delivery);
            count(`${transition.expect.kind === 'member' ? 'taken out' : 'taken out early'}: ${result}`);
            return result;
          },
        },
      };
    },
  };
  return { seen, observing };
};

/** What came to pass in so many runs, in which nothing may be wrong. */
const seenIn = async (
  seeds: number,
  adapted: (scenario: Scenario) => Scenario = (scenario) => scenario,
): Promise<Partial<Record<string, number>>> => {
  const { seen, observing } = observer();
  for (let seed = 1; seed <= seeds; seed += 1)
    expect((await runScenario(adapted(generateScenario(seed)), { sabotage: observing })).findings).toEqual(
      [],
    );
  return seen;
};

/** Of these, those that came to pass so rarely that nothing is shown by it. */
const rareIn = (seen: Partial<Record<string, number>>, wanted: readonly string[]) =>
  wanted.filter((what) => (seen[what] ?? 0) < 20).map((what) => `${what}: ${seen[what] ?? 0}`);

describe('the generated scenarios', () => {
  it('have chunks for several deliveries, claimed by one of two, recorded together, and broken up', async () => {
    const wanted = [
      'unclaimed written',
      'unclaimed refused',
      'held written',
      'lapsed written',
      'claimed for several',
      'recorded together',
    ];
    expect(rareIn(await seenIn(1_000), wanted)).toEqual([]);
  });

  it('have deliveries taken out by hand, before the claim and in the middle of an attempt', async () => {
    const wanted = ['taken out: taken_out', 'taken out early: taken_out', 'held refused'];
    expect(rareIn(await seenIn(300, cancelledMeanwhile), wanted)).toEqual([]);
  });
});

/** The invariants that are broken in one of so many scenarios. */
const brokenBy = async (
  sabotage: Sabotage,
  within: number,
  adapted: (scenario: Scenario) => Scenario = (scenario) => scenario,
): Promise<Set<string>> => {
  const broken = new Set<string>();
  for (let seed = 1; seed <= within; seed += 1) {
    const { findings } = await runScenario(adapted(generateScenario(seed)), { sabotage });
    for (const { invariant } of findings) broken.add(invariant);
  }
  return broken;
};

describe('a pipeline is caught', () => {
  it('whose claim is given to two: requests are made twice at a time', async () => {
    expect(await brokenBy(claimGivenToTwo, 20)).toContain('duplicates_are_explained');
  });

  it('that does not count as lost what a holder did not come back from', async () => {
    expect(await brokenBy(lostWithItsHolderUncounted, 200)).toContain('duplicates_are_explained');
  });

  it('whose chunks do not learn who has a record of its own: a request is made after the end', async () => {
    expect(await brokenBy(takenOutUntold, 100, cancelledMeanwhile)).toContain('nothing_after_its_end');
  });

  it('that says successes to be on record before they are: nobody looks after them', async () => {
    expect(await brokenBy(successesNotRecorded, 200)).toContain('everything_ends');
  });

  it('that asks those again whose successes are on record', async () => {
    expect(await brokenBy(recordedForgotten, 200)).toContain('nothing_after_its_end');
  });
});
