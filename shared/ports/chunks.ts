import type { Chunk, ChunkTransition } from '../domain/chunk.ts';
import type { ChunkKey } from '../domain/delivery.ts';
import type { Delivery } from '../domain/delivery.ts';

/** `refused`: the condition did not hold; `current` is the chunk that refused it, undefined where there is none. */
export type ChunkResult = { kind: 'written'; chunk: Chunk } | { kind: 'refused'; current: Chunk | undefined };

/** The records of chunks: one conditional write at a time. */
export interface Chunks {
  write(transition: ChunkTransition): Promise<ChunkResult>;
  /** Strongly consistent. */
  find(key: ChunkKey): Promise<Chunk | undefined>;
  /** Gives a delivery a record of its own, and says so in its chunk: both or neither. Refused: either changed meanwhile. */
  takeOut(transition: ChunkTransition, delivery: Delivery): Promise<'taken_out' | 'refused'>;
}
