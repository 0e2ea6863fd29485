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

/** The ports with replaced chunk methods. */
const withChunks = (ports: StepPorts, { write, takeOut }: Partial<Chunks>): StepPorts => {
  const { chunks } = ports;
  return {
    ...ports,
    chunks: {
      write: write ?? ((transition) => chunks.write(transition)),
      takeOut: takeOut ?? ((transition, delivery) => chunks.takeOut(transition, delivery)),
      add: (delivery, exclusion) => chunks.add(delivery, exclusion),
      find: (key) => chunks.find(key),
    },
  };
};

/** The ports with changed results of one kind of chunk write. */
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

/** Every claimer of a claimed chunk believes that it holds the claim. */
const claimGivenTwice: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'unclaimed', (result, { change }) => {
      const current = result.kind === 'refused' ? result.current : undefined;
      return current?.lease === undefined || change.claim === undefined
        ? result
        : { kind: 'written', chunk: { ...current, lease: change.claim.lease } };
    }),
};

/** A request lost in a crash is repeated as if it were the first. */
const lostAttemptsNotCounted: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) =>
      ports.deliveries.write(
        'create' in transition && transition.name === 'open'
          ? { ...transition, create: { ...transition.create, lost: 0 } }
          : transition,
      ),
    ),
};

/** A delivery gets a separate record, but its chunk still lists it as pending. */
const separateRecordHidden: Sabotage = {
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

/** Successes are reported as recorded before they are. */
const successesNotRecorded: Sabotage = {
  ports: (ports) => {
    let seen: Chunk | undefined;
    return withChunks(ports, {
      write: async (transition) => {
        if (transition.expect.kind === 'leased' && seen !== undefined)
          return { kind: 'written', chunk: applyToChunk(transition, seen) };
        const result = await ports.chunks.write(transition);
        seen = result.kind === 'written' ? result.chunk : result.current;
        return result;
      },
    });
  },
};

/** Ending a expired lease forgets the recorded successes. */
const recordedSuccessesForgotten: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'lease_expired', (result) => {
      if (result.kind === 'refused') return result;
      const undone = new Map(
        [...(result.chunk.members ?? [])].map(([id]): [string, 'pending'] => [id, 'pending']),
      );
      return { kind: 'written', chunk: { ...result.chunk, members: undone } };
    }),
};

/** Delay of a message, in milliseconds. */
const DUE_AFTER_MS = 60 * SECOND;

/** Of three deliveries, one is cancelled before its request, one during it, one never. */
const CANCELLED_AFTER_MS = [DUE_AFTER_MS / 2, DUE_AFTER_MS + 3 * SECOND, undefined];

/** Cancels deliveries manually before their first attempt, or during a successful one. */
const withCancellations = (scenario: Scenario): Scenario => {
  const subscriptions = scenario.subscriptions.slice(0, 2).flatMap((one) =>
    CANCELLED_AFTER_MS.map((_, index): PlannedSubscription => ({
      ...one,
      id: `${one.id}-${index}`,
      answers: {
        first: [{ takesMs: (index + 1) * 3 * SECOND, response: { status: 200 } }],
        then: { takesMs: 3 * SECOND, response: { status: 500 } },
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

describe('scenarios with manual cancellations', () => {
  it('move some members to separate records, before the claim and during an attempt', async () => {
    const { seen, observing } = chunkObserver();
    for (let seed = 1; seed <= 60; seed += 1) {
      const scenario = withCancellations(generateScenario(seed));
      expect((await runScenario(scenario, { sabotage: observing })).findings).toEqual([]);
    }
    expect(rareIn(seen, ['taken out: taken_out', 'taken out early: taken_out', 'leased refused'])).toEqual(
      [],
    );
  });
});

describe('the simulation catches a pipeline', () => {
  it('that gives a claim to two invocations: concurrent duplicate requests', async () => {
    expect(await isCaught(claimGivenTwice, 'duplicates_are_explained', 20)).toBe(true);
  });

  it('that does not count a request lost in a crash', async () => {
    expect(await isCaught(lostAttemptsNotCounted, 'duplicates_are_explained', 200)).toBe(true);
  });

  it('whose chunks ignore separate records: a request after the end', async () => {
    expect(await isCaught(separateRecordHidden, 'nothing_after_its_end', 100, withCancellations)).toBe(true);
  });

  it('that reports successes as recorded before they are: they are lost', async () => {
    expect(await isCaught(successesNotRecorded, 'everything_ends', 200)).toBe(true);
  });

  it('that repeats requests whose successes are recorded', async () => {
    expect(await isCaught(recordedSuccessesForgotten, 'nothing_after_its_end', 200)).toBe(true);
  });
});
