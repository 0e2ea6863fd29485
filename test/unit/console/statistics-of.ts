import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import type { Counts, Statistics } from '../../../console/src/statistics/statistics-charts.tsx';

/** Counts, zero where none are given. */
export const countsOf = (more: Partial<Counts> = {}): Counts => ({ ...noCounters().counts, ...more });

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
