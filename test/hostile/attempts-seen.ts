import type { AttemptSeen } from './messages.ts';

/** The attempts of a run by the name of their receiver, as they come in. */
export type AttemptsSeen = {
  add: (attempt: AttemptSeen) => void;
  of: (name: string) => readonly AttemptSeen[];
  /** Resolves once there are so many first attempts. @throws when they have not come within `withinMs` */
  firstOf: (name: string, count: number, withinMs: number) => Promise<void>;
};

type Waiter = { isOver: () => boolean; done: () => void };

/** A receiver has as many subscriptions as it likes: `name-1`, `name-2` … */
export const nameOf = (subscriptionId: string): string => subscriptionId.replace(/-\d+$/, '');

export const attemptsSeen = (): AttemptsSeen => {
  const byName = new Map<string, AttemptSeen[]>();
  const waiters = new Set<Waiter>();
  const of = (name: string): AttemptSeen[] => byName.get(name) ?? [];

  return {
    of,
    add: (attempt) => {
      const name = nameOf(attempt.subscriptionId);
      byName.set(name, [...of(name), attempt]);
      for (const waiter of waiters) if (waiter.isOver()) waiter.done();
    },
    firstOf: (name, count, withinMs) =>
      new Promise((resolve, reject) => {
        const came = () => of(name).filter(({ number }) => number === 1).length;
        if (came() >= count) {
          resolve();
          return;
        }
        const timer = setTimeout(() => {
          waiters.delete(waiter);
          reject(new Error(`${name}: ${came()} of ${count} first attempts ended within ${withinMs} ms`));
        }, withinMs);
        const waiter: Waiter = {
          isOver: () => came() >= count,
          done: () => {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve();
          },
        };
        waiters.add(waiter);
      }),
  };
};
