import { randomUUID } from 'node:crypto';
import { newRecovery, recoveryIdOf, type Recovery } from '../../shared/domain/recovery/recovery.ts';
import { SOME_TIME } from './delivery-builders.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A recovery of a queue that no other test uses. */
export const aRecovery = (overrides: Partial<Recovery> = {}): Recovery => ({
  ...newRecovery(
    recoveryIdOf(overrides.createdAt ?? SOME_TIME, randomUUID()),
    { queue: randomUUID(), since: SOME_TIME - DAY_MS, until: SOME_TIME },
    { now: SOME_TIME, retentionMs: 30 * DAY_MS },
  ),
  ...overrides,
});
