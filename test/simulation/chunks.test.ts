import { applyToChunk, type Chunk, type ChunkTransition } from '../../shared/domain/delivery/chunk.ts';
import type { ChunkResult, Chunks } from '../../shared/ports/deliveries.ts';
import { chunkObserver, rareIn } from './chunk-observer.ts';
import { generateScenario } from './generate-scenario.ts';
import { isCaught } from './is-caught.ts';
import type { StepPorts } from './ports.ts';
import { runScenario } from './run-scenario.ts';
import { withWrite } from './sabotage.ts';
import { type Intervention, type PlannedSubscription, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

/** The ports with another way to deal with chunks. */
const withChunks = (ports: StepPorts, { write, takeOut }: Partial<Chunks>): StepPorts => {
  const { chunks } = ports;
  return {
    ...ports,
    chunks: {
      write: write ?? ((transition) => chunks.write(transition)),
      takeOut: takeOut ?? ((transition, delivery) => chunks.takeOut(transition, delivery)),
      find: (key) => chunks.find(key),
    },
  };
};

/** The same, where only the answers of one kind of write are other ones. */
const withAnswer = (
  ports: StepPorts,
  kind: ChunkTransition['expect']['kind'],
  answer: (result: ChunkResult, transition: ChunkTransition) => ChunkResult,
): StepPorts =>
  withChunks(ports, {
    write: async (transition) => {
      const result = await ports.chunks.write(transition);
      return transition.expect.kind === kind ? answer(result, transition) : result;
    },
  });

/** Whoever asks for a chunk while somebody is at it believes that it is theirs. */
const claimGivenToTwo: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'unclaimed', (result, { change }) => {
      const current = result.kind === 'refused' ? result.current : undefined;
      return current?.lease === undefined || change.claim === undefined
        ? result
        : { kind: 'written', chunk: { ...current, lease: change.claim.lease } };
    }),
};

/** Who was to be asked by a holder that did not come back is asked as if for the first time. */
const lostWithItsHolderUncounted: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) =>
      ports.deliveries.write(
        'create' in transition && transition.name === 'open'
          ? { ...transition, create: { ...transition.create, lost: 0 } }
          : transition,
      ),
    ),
};

/** A delivery is given a record of its own, and its chunk goes on telling of it. */
const takenOutUntold: Sabotage = {
  ports: (ports) =>
    withChunks(ports, {
      takeOut: async (_, delivery) => {
        const { key } = delivery;
        const opening = { name: 'open' as const, key, expect: { kind: 'absent' as const }, create: delivery };
        const { kind } = await ports.deliveries.write(opening);
        return kind === 'written' ? 'taken_out' : 'refused';
      },
    }),
};

/** Successes are said to be on record before they are. */
const successesNotRecorded: Sabotage = {
  ports: (ports) => {
    let seen: Chunk | undefined;
    return withChunks(ports, {
      write: async (transition) => {
        if (transition.expect.kind === 'held' && seen !== undefined)
          return { kind: 'written', chunk: applyToChunk(transition, seen) };
        const result = await ports.chunks.write(transition);
        seen = result.kind === 'written' ? result.chunk : result.current;
        return result;
      },
    });
  },
};

/** Whoever ends the lease of a holder takes everything to be undone that it had been at. */
const recordedForgotten: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'lapsed', (result) => {
      if (result.kind === 'refused') return result;
      const undone = new Map(
        [...(result.chunk.members ?? [])].map(([id]): [string, 'pending'] => [id, 'pending']),
      );
      return { kind: 'written', chunk: { ...result.chunk, members: undone } };
    }),
};

/** How long after its publication a message is due. */
const DUE_AFTER_MS = 60 * SECOND;

/** Of three subscribers one is not to be asked at all, one is being asked, and of one nothing is said. */
const CANCELLED_AFTER_MS = [DUE_AFTER_MS / 2, DUE_AFTER_MS + 3 * SECOND, undefined];

/** Deliveries that are cancelled by hand before their first attempt, or in the middle of one that is to succeed. */
const cancelledMeanwhile = (scenario: Scenario): Scenario => {
  const subscriptions = scenario.subscriptions.slice(0, 2).flatMap((one) =>
    CANCELLED_AFTER_MS.map((_, index): PlannedSubscription => ({
      ...one,
      id: `${one.id}-${index}`,
      answers: {
        first: [{ takesMs: (index + 1) * 3 * SECOND, says: { status: 200 } }],
        then: { takesMs: 3 * SECOND, says: { status: 500 } },
      },
    })),
  );
  const messages = scenario.messages.map((message) => ({
    ...message,
    ttlSeconds: undefined,
    delaySeconds: DUE_AFTER_MS / SECOND,
  }));
  const interventions = messages.flatMap(({ id: messageId, at }) =>
    subscriptions.flatMap(({ id: subscriptionId }, index): Intervention[] => {
      const afterMs = CANCELLED_AFTER_MS[index % CANCELLED_AFTER_MS.length];
      return afterMs === undefined ? [] : [{ at: at + afterMs, kind: 'cancel', messageId, subscriptionId }];
    }),
  );
  return {
    ...scenario,
    settings: { ...scenario.settings, attemptTimeoutMs: 15 * SECOND, firstAttemptsPerJob: 10 },
    subscriptions,
    messages,
    changes: [],
    interventions,
  };
};

describe('scenarios in which deliveries are cancelled meanwhile', () => {
  it('have some taken out by hand, before the claim and in the middle of an attempt', async () => {
    const { seen, observing } = chunkObserver();
    for (let seed = 1; seed <= 60; seed += 1) {
      const scenario = cancelledMeanwhile(generateScenario(seed));
      expect((await runScenario(scenario, { sabotage: observing })).findings).toEqual([]);
    }
    expect(rareIn(seen, ['taken out: taken_out', 'taken out early: taken_out', 'held refused'])).toEqual([]);
  });
});

describe('a pipeline is caught', () => {
  it('whose claim is given to two: requests are made twice at a time', async () => {
    expect(await isCaught(claimGivenToTwo, 'duplicates_are_explained', 20)).toBe(true);
  });

  it('that does not count as lost what a holder did not come back from', async () => {
    expect(await isCaught(lostWithItsHolderUncounted, 'duplicates_are_explained', 200)).toBe(true);
  });

  it('whose chunks do not learn who has a record of its own: a request is made after the end', async () => {
    expect(await isCaught(takenOutUntold, 'nothing_after_its_end', 100, cancelledMeanwhile)).toBe(true);
  });

  it('that says successes to be on record before they are: nobody looks after them', async () => {
    expect(await isCaught(successesNotRecorded, 'everything_ends', 200)).toBe(true);
  });

  it('that asks those again whose successes are on record', async () => {
    expect(await isCaught(recordedForgotten, 'nothing_after_its_end', 200)).toBe(true);
  });
});
