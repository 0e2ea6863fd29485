import type { Clock } from '../../../shared/ports/clock.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import type { Request } from '../figures.ts';

/** What a subscriber does with a request that comes now. */
export type Manner = (now: number) => { statusCode: number; takesMs: number };

export type Subscribers = Subscriber & {
  /** In the order of arrival. */
  requestsAt: (url: string) => readonly Request[];
};

/** Everybody who subscribed, by address. */
export const subscribersOf = (clock: Clock, manners: Readonly<Record<string, Manner>>): Subscribers => {
  const requests = new Map<string, Request[]>();
  return {
    requestsAt: (url) => requests.get(url) ?? [],
    post: async ({ url, headers }) => {
      const manner = manners[url];
      if (manner === undefined) throw new RangeError(`Nobody is at ${url}.`);
      const { statusCode, takesMs } = manner(clock.now());
      const all = requests.get(url) ?? [];
      all.push({
        id: headers['webhook-id'] ?? '',
        at: clock.now(),
        answeredAt: clock.now() + takesMs,
        statusCode,
      });
      requests.set(url, all);
      await clock.sleep(takesMs);
      return { kind: 'answered', statusCode };
    },
  };
};
