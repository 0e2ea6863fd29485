import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DeliveryResult } from '../../shared/domain/subscription/recent-results.ts';
import type { CommonResults } from '../../shared/ports/pace.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

type UnderTest = { commonResults: CommonResults; setTime: (now: number) => void };

const RULES = { circuitRequests: 10, circuitFailurePercent: 70, circuitWindowMs: 30_000 };
const VERSION = 5;

const aSubscriptionKey = () => ({ queue: 'orders', subscriptionId: randomUUID() });

const failure = (messageId: string, at = SOME_TIME): DeliveryResult => ({ messageId, at, isFailure: true });

/** Contract of common results: what any instance adds, the next one sees. */
export const describeCommonResultsContract = (name: string, make: () => UnderTest): void => {
  describe(`common results ${name}`, () => {
    const begun = () => {
      const { commonResults, setTime } = make();
      setTime(SOME_TIME);
      const key = aSubscriptionKey();
      const add = async (version: number, ...results: DeliveryResult[]) =>
        (await commonResults.add(key, version, results, RULES)).map(({ messageId }) => messageId);
      return { add, setTime };
    };

    it('are those of all callers in the order of their times, one of each delivery', async () => {
      const { add } = begun();
      expect(await add(VERSION, failure('b', SOME_TIME - 2))).toEqual(['b']);
      expect(await add(VERSION, failure('a', SOME_TIME - 3), failure('c'))).toEqual(['a', 'b', 'c']);
      expect(await add(VERSION, failure('a', SOME_TIME - 1))).toEqual(['b', 'a', 'c']);
    });

    it('of ten concurrent callers are all kept, and one of them sees them all', async () => {
      const { add } = begun();
      const ids = Array.from({ length: 10 }, (_, index) => `m-${index}`);
      const seen = await Promise.all(ids.map((id) => add(VERSION, failure(id))));
      const [most = []] = seen.toSorted((one, other) => other.length - one.length);
      expect(most.toSorted()).toEqual(ids);
    });

    it('are the last twenty however many are added', async () => {
      const { add } = begun();
      const ids = Array.from({ length: 100 }, (_, index) => `m-${index}`);
      for (const [index, id] of ids.entries()) await add(VERSION, failure(id, SOME_TIME - 100 + index));
      expect(await add(VERSION, failure('last'))).toEqual([...ids.slice(-19), 'last']);
    });

    it('are forgotten after the window', async () => {
      const { add, setTime } = begun();
      await add(VERSION, failure('old'));
      setTime(SOME_TIME + 30_000);
      expect(await add(VERSION, failure('new', SOME_TIME + 30_000))).toEqual(['new']);
    });

    it('begin anew with a later version of the subscription, and ignore earlier ones', async () => {
      const { add } = begun();
      await add(VERSION, failure('before'));
      expect(await add(VERSION + 1, failure('after'))).toEqual(['after']);
      expect(await add(VERSION, failure('late'))).toEqual([]);
      expect(await add(VERSION + 1, failure('next'))).toEqual(['after', 'next']);
    });
  });
};
