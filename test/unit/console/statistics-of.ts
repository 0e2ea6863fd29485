import type { Counts, Statistics } from '../../../console/src/statistics/read-statistics.ts';

/** Counts, zero where none are given. */
export const countsOf = (more: Partial<Counts> = {}): Counts => ({
  messages: 0,
  matched: 0,
  filtered: 0,
  attempts: 0,
  attemptsFailed: 0,
  attemptsRejected: 0,
  delivered: 0,
  exhausted: 0,
  rejected: 0,
  cancelled: 0,
  ...more,
});

/** The statistics of three minutes from 12:00, as the API answers. */
export const statisticsOf = (total: Partial<Counts> = {}, points: Statistics['points'] = []): Statistics => ({
  queue: 'orders',
  enabled: true,
  since: '2026-11-21T12:00:00.000Z',
  until: '2026-11-21T12:03:00.000Z',
  stepSeconds: 60,
  points,
  total: countsOf(total),
});
