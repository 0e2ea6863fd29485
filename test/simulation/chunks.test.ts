import { expect, it } from 'vitest';
import { type Chunk, type ChunkTransition } from '../../shared/domain/delivery/chunk.ts';
import type { ChunkResult } from '../../shared/ports/deliveries.ts';
import { chunkObserver, rareIn } from './chunk-observer.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { itCatches, replacing, writing } from './sabotage.ts';
import { answering, type Intervention, type PlannedSubscription, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { applyToChunk } from '../support/in-memory/chunk-model.ts';

/** Changes the results of one kind of chunk write. */
const answeringWrites = (
  kind: ChunkTransition['expect']['kind'],
  answer: (result: ChunkResult, transition: ChunkTransition) => ChunkResult,
): Sabotage =>
  replacing('chunks', (chunks) => ({
    write: async (transition) => {
      const result = await chunks.write(transition);
      return transition.expect.kind === kind ? answer(result, transition) : result;
    },
  }));

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
        first: [answering(200, (index + 1) * 3 * SECOND)],
        then: answering(500, 3 * SECOND),
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

it('manual cancellations move some members to separate records, before the claim and during an attempt', async () => {
  const { seen, observing } = chunkObserver();
  for (let seed = 1; seed <= 40; seed += 1) {
    const scenario = withCancellations(generateScenario(seed));
    expect((await runScenario(scenario, { sabotage: observing })).findings).toEqual([]);
  }
  expect(rareIn(seen, ['taken out: taken_out', 'taken out early: taken_out', 'leased refused'])).toEqual([]);
});

itCatches({
  'that gives a claim to two invocations: concurrent duplicate requests': {
    by: 'duplicates_are_explained',
    seed: 7,
    ...answeringWrites('unclaimed', (result, { change }) => {
      const current = result.kind === 'refused' ? result.current : undefined;
      return current?.lease === undefined || change.claim === undefined
        ? result
        : { kind: 'written', chunk: { ...current, lease: change.claim.lease } };
    }),
  },

  'that does not count a request lost in a crash': {
    by: 'duplicates_are_explained',
    seed: 7,
    ...writing((transition, { deliveries }) =>
      'create' in transition && transition.name === 'open'
        ? deliveries.write({ ...transition, create: { ...transition.create, lost: 0 } })
        : undefined,
    ),
  },

  'whose chunks ignore separate records: a request after the end': {
    by: 'nothing_after_its_end',
    seed: 3,
    among: withCancellations,
    ...replacing('chunks', (_chunks, { deliveries }) => ({
      takeOut: async (_transition, create) => {
        const opening = { name: 'open', key: create.key, expect: { kind: 'absent' }, create } as const;
        return (await deliveries.write(opening)).kind === 'written' ? 'taken_out' : 'refused';
      },
    })),
  },

  'that reports successes as recorded before they are: they are lost': {
    by: 'everything_ends',
    seed: 16,
    ...replacing('chunks', (chunks) => {
      let seen: Chunk | undefined;
      return {
        write: async (transition) => {
          if (transition.expect.kind === 'leased' && seen !== undefined)
            return { kind: 'written', chunk: applyToChunk(transition, seen) };
          const result = await chunks.write(transition);
          seen = result.kind === 'written' ? result.chunk : result.current;
          return result;
        },
      };
    }),
  },

  'that repeats requests whose successes are recorded, because a takeover forgets them': {
    by: 'nothing_after_its_end',
    seed: 7,
    ...answeringWrites('lease_expired', (result) => {
      if (result.kind === 'refused') return result;
      const { members = new Map<string, never>() } = result.chunk;
      const undone = new Map([...members.keys()].map((id) => [id, 'pending' as const]));
      return { kind: 'written', chunk: { ...result.chunk, members: undone } };
    }),
  },
});
