import { applyToChunk, type Chunk, type ChunkTransition } from '../../shared/domain/delivery/chunk.ts';
import type { Chunks, ChunkResult } from '../../shared/ports/deliveries.ts';
import type { StepPorts } from './ports.ts';
import { withWrite } from './sabotage.ts';
import type { Sabotage } from './simulated-world.ts';

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
export const claimGivenToTwo: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'unclaimed', (result, { change }) => {
      const current = result.kind === 'refused' ? result.current : undefined;
      return current?.lease === undefined || change.claim === undefined
        ? result
        : { kind: 'written', chunk: { ...current, lease: change.claim.lease } };
    }),
};

/** Who was to be asked by a holder that did not come back is asked as if for the first time. */
export const lostWithItsHolderUncounted: Sabotage = {
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
export const takenOutUntold: Sabotage = {
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
export const successesNotRecorded: Sabotage = {
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
export const recordedForgotten: Sabotage = {
  ports: (ports) =>
    withAnswer(ports, 'lapsed', (result) => {
      if (result.kind === 'refused') return result;
      const undone = new Map(
        [...(result.chunk.members ?? [])].map(([id]): [string, 'pending'] => [id, 'pending']),
      );
      return { kind: 'written', chunk: { ...result.chunk, members: undone } };
    }),
};
