import { describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../shared/domain/delivery/dead-letter.ts';
import type { DeadLetterQueue } from '../../shared/ports/queues.ts';

/** A separate queue, and how to put messages on it. `put` returns the id. */
export type DeadLetterQueueUnderTest = {
  queue: DeadLetterQueue;
  put: (body: string, attributes?: DeadLetterAttributes) => Promise<string>;
};

const HIDDEN_SECONDS = 60;

const receiveAll = async (queue: DeadLetterQueue): Promise<DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  for (;;) {
    const received = await queue.receive(50, HIDDEN_SECONDS);
    if (received.length === 0) return letters;
    letters.push(...received);
  }
};

const idsOf = (letters: readonly DeadLetter[]): string[] => letters.map(({ id }) => id).toSorted();

/** Contract of dead-letter queues: a dead letter is received by one caller at a time, until it is removed. */
export const describeDeadLetterQueueContract = (
  name: string,
  make: () => Promise<DeadLetterQueueUnderTest>,
): void => {
  const filled = async (count: number) => {
    const { queue, put } = await make();
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await put(`body ${n}`));
    return { queue, ids: ids.toSorted() };
  };

  // Concurrent, because these tests mostly wait.
  describe.concurrent(`a dead-letter queue ${name}`, () => {
    it('receives nothing while it is empty', async () => {
      const { queue } = await make();
      expect(await queue.receive(50, HIDDEN_SECONDS)).toEqual([]);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 0 });
      await queue.release([]);
      await queue.remove([]);
    });

    it('receives a dead letter completely, with typed attributes and its time of sending', async () => {
      const { queue, put } = await make();
      const attributes = {
        reason: { type: 'String', text: 'not_json' },
        count: { type: 'Number', text: '3' },
        picture: { type: 'Binary', bytes: Uint8Array.of(0, 255) },
      };
      const from = Date.now();
      const id = await put('{"ü": 🐘', attributes);
      const [letter] = await queue.receive(1, HIDDEN_SECONDS);
      expect(letter).toMatchObject({ id, body: '{"ü": 🐘', attributes });
      expect(letter?.receives).toBe(1);
      expect(letter?.sentAt).toBeGreaterThanOrEqual(from - 1000);
      expect(letter?.sentAt).toBeLessThanOrEqual(Date.now() + 1000);
    });

    it('receives more than ten at once, at most as many as requested, each once', async () => {
      const { queue, ids } = await filled(25);
      const first = await queue.receive(13, HIDDEN_SECONDS);
      expect(first.length).toBeLessThanOrEqual(13);
      expect(idsOf([...first, ...(await receiveAll(queue))])).toEqual(ids);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 25 });
    });

    it('receives a released dead letter again, which can then be removed', async () => {
      const { queue, ids } = await filled(12);
      await queue.release(await receiveAll(queue));
      const again = await receiveAll(queue);
      expect(idsOf(again)).toEqual(ids);
      await queue.remove(again);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 0 });
    });

    it('never receives a removed dead letter again, and ignores its release', async () => {
      const { queue } = await filled(3);
      const [gone, ...others] = await receiveAll(queue);
      if (gone === undefined) throw new Error('no dead letter was received');
      await queue.remove([gone]);
      await queue.release([gone, ...others]);
      expect(idsOf(await receiveAll(queue))).toEqual(idsOf(others));
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 2 });
    });
  });
};
