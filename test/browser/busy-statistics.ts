import { addDuration, noCounters } from '../../shared/domain/delivery/statistics.ts';
import type { ServedApi } from './served-api.ts';

const MINUTE = 60_000;

/** Counts some minutes of the queue, five of which had a failing subscriber. */
export const countMinutes = async ({ statistics }: ServedApi, queue: string, now: number): Promise<void> => {
  for (let ago = 55; ago > 0; ago -= 1) {
    const counters = noCounters();
    const { counts, timeToDelivery, response } = counters;
    const isBad = ago > 24 && ago < 30;
    counts.messages = 20 + Math.round(12 * Math.sin(ago / 7));
    counts.matched = counts.messages * 3;
    counts.attempts = counts.matched;
    counts.attemptsFailed = isBad ? 14 : Number(ago % 9 === 0);
    counts.exhausted = Number(isBad);
    counts.delivered = counts.attempts - counts.attemptsFailed;
    for (let one = 0; one < counts.delivered; one += 1) {
      addDuration(response, 40 + ((one * 37) % 160) + (isBad ? 900 : 0));
      addDuration(timeToDelivery, 70 + ((one * 53) % 240) + (isBad ? 20_000 : 0));
    }
    const at = Math.floor(now / MINUTE) * MINUTE - ago * MINUTE;
    await statistics.add({ queue, at, counters, expiresAt: now + MINUTE });
  }
};
