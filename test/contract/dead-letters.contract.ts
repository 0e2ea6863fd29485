import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DeadLetters } from '../../shared/ports/queues.ts';
import { inAnyOrder } from '../support/in-any-order.ts';

export type DeadLettered = {
  body: string;
  id: string;
  reason: string;
  attributes: Record<string, string>;
};

export type DeadLettersUnderTest = {
  deadLetters: DeadLetters;
  /** Waits for `count` dead letters, and returns all that there are then. */
  sent: (count: number) => Promise<DeadLettered[]>;
};

const sentAlone = async (
  { deadLetters, sent }: DeadLettersUnderTest,
  body: string,
  attributes?: Record<string, string>,
) => {
  const id = randomUUID();
  await deadLetters.send({ body, id, ...(attributes === undefined ? {} : { attributes }) }, 'not_json');
  return { id, letters: await sent(1) };
};

/** Contract of dead-letter senders: the content is unchanged, and the reason is added. */
export const describeDeadLettersContract = (
  name: string,
  make: () => Promise<DeadLettersUnderTest>,
): void => {
  describe(`dead letters ${name}`, () => {
    it.each([
      ['garbage', ' not {json\n\t'],
      ['a character', ' '],
      ['JSON with big integers', '{"n": 12345678901234567890, "n": 1.0}'],
      ['any alphabet', '"größer 日本 🐘 \u2028"'],
      // 1 MiB minus the reason and the id, which count too.
      ['nearly 1 MiB', `"${'é'.repeat(512 * 1024 - 128)}"`],
    ])('keep the text unchanged: %s', async (_, body) => {
      const { id, letters } = await sentAlone(await make(), body);
      expect(letters).toEqual([{ body, id, reason: 'not_json', attributes: {} }]);
    });

    it('keep the attributes unchanged', async () => {
      const attributes = { queue: 'orders', 'ce-type': 'größer 🐘', 'x.y-z_1': ' ', other: '{"n": 1}' };
      const { id, letters } = await sentAlone(await make(), 'body', attributes);
      expect(letters).toEqual([{ body: 'body', id, reason: 'not_json', attributes }]);
    });

    it('arrive as often as they were sent, including copies', async () => {
      const { deadLetters, sent } = await make();
      const [first = '', ...others] = Array.from({ length: 19 }, () => randomUUID());
      const ids = [first, first, ...others];
      await Promise.all(ids.map((id) => deadLetters.send({ body: id, id }, `invalid_field:${id}`)));
      const letters = ids.map((id) => ({ body: id, id, reason: `invalid_field:${id}`, attributes: {} }));
      expect(inAnyOrder(await sent(20))).toEqual(inAnyOrder(letters));
    });
  });
};
