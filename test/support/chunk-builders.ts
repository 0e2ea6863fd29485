import { randomUUID } from 'node:crypto';
import type { Chunk, FirstSuccess } from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey } from '../../shared/domain/delivery/delivery.ts';
import { answered, SOME_TIME } from './delivery-builders.ts';

export const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/** The key of a message that no other test uses. */
export const aChunkKey = (overrides: Partial<ChunkKey> = {}): ChunkKey => ({
  queue: 'orders.eu-1',
  messageId: randomUUID(),
  bucket: 0,
  chunk: 0,
  ...overrides,
});

export const aFirstSuccess = (overrides: Partial<FirstSuccess> = {}): FirstSuccess => ({
  startedAt: SOME_TIME + 10,
  durationMs: 120,
  result: answered(200),
  ...overrides,
});

export const HOLDER = { owner: 'holder', until: SOME_TIME + 25_000 };

/** Claimed by `holder`, who is working on it. */
export const aChunk = (overrides: Partial<Chunk> = {}): Chunk => ({
  key: aChunkKey(),
  acceptedAt: SOME_TIME,
  members: new Map([
    ['a', 'pending'],
    ['b', 'pending'],
    ['c', 'pending'],
  ]),
  excluded: new Set(),
  lease: HOLDER,
  updatedAt: SOME_TIME,
  expiresAt: SOME_TIME + RETENTION_MS,
  ...overrides,
});
