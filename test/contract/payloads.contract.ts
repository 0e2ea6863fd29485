import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../shared/domain/message/message.ts';
import { payloadKeyOf } from '../../shared/domain/message/body.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import { aMessage } from '../support/builders.ts';

/** A message that no other test uses. */
const aStoredMessage = (overrides: Partial<Message> = {}): Message =>
  aMessage({ id: randomUUID(), ...overrides });

const ofBytes = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

/** Contract of payload stores: a message is returned byte for byte; a missing one is undefined. */
export const describePayloadsContract = (name: string, make: () => Payloads): void => {
  describe(`payloads ${name}`, () => {
    it.each([
      ['big integers, spaces and the order of keys', '{"b": 12345678901234567890,\n "a":1.0, "b": 1e400}'],
      ['any character', JSON.stringify('größer 日本 🐘 \u0000 \u2028 \ufffe \uffff \ud800')],
      ['escapes as they were written', '"\\u00e9 \\/ \\ud83d\\ude00"'],
      ['null', 'null'],
      ['a single byte', '7'],
      ['1 MiB', ofBytes(1024 * 1024)],
      ['1 MiB of multi-byte characters', JSON.stringify('é'.repeat(512 * 1024 - 1))],
    ])('return %s unchanged', async (_, data) => {
      const payloads = make();
      const message = aStoredMessage({ data });
      await payloads.put(payloadKeyOf(message), message);
      expect(await payloads.get(payloadKeyOf(message))).toEqual(message);
    });

    it('return all fields of a message, and no others', async () => {
      const payloads = make();
      const { type, ...bare } = aStoredMessage();
      const full = aStoredMessage({
        type: type ?? '',
        originalId: 'an id/🐘 "',
        expiresAt: 1_800_000_000_000,
      });
      for (const message of [bare, full]) {
        await payloads.put(payloadKeyOf(message), message);
        expect(await payloads.get(payloadKeyOf(message))).toEqual(message);
      }
    });

    it('return nothing for an unused key', async () => {
      const payloads = make();
      const message = aStoredMessage();
      await payloads.put(payloadKeyOf(message), message);
      for (const key of [
        `${payloadKeyOf(message)}x`,
        payloadKeyOf(message).slice(0, -1),
        'orders',
        randomUUID(),
      ])
        expect(await payloads.get(key)).toBeUndefined();
    });

    it('return the latest of several writes', async () => {
      const payloads = make();
      const message = aStoredMessage();
      for (const data of ['1', '"a longer one"', '2'])
        await payloads.put(payloadKeyOf(message), { ...message, data });
      expect(await payloads.get(payloadKeyOf(message))).toEqual({ ...message, data: '2' });
    });

    it('return one of fifty concurrent writes completely', async () => {
      const payloads = make();
      const message = aStoredMessage();
      const key = payloadKeyOf(message);
      const rivals = Array.from({ length: 50 }, (_, n) => ({
        ...message,
        data: JSON.stringify(`${n}`.repeat(2000)),
      }));
      await Promise.all(rivals.map((rival) => payloads.put(key, rival)));
      expect(rivals).toContainEqual(await payloads.get(key));
    });

    it('are removed, also when removed twice', async () => {
      const payloads = make();
      const [message, other] = [aStoredMessage(), aStoredMessage()];
      for (const one of [message, other]) await payloads.put(payloadKeyOf(one), one);
      await payloads.remove(payloadKeyOf(message));
      await payloads.remove(payloadKeyOf(message));
      expect(await payloads.get(payloadKeyOf(message))).toBeUndefined();
      expect(await payloads.get(payloadKeyOf(other))).toEqual(other);
    });

    it('are removed under all keys of a message, and of no other message', async () => {
      const payloads = make();
      const message = aStoredMessage();
      const twin = { ...message, data: '"under the same id"' };
      const others = [aStoredMessage(), { ...message, id: `${message.id}1` }, { ...message, queue: 'other' }];
      for (const one of [message, twin, ...others]) await payloads.put(payloadKeyOf(one), one);
      const key = { queue: message.queue, messageId: message.id };
      await payloads.removeAll(key);
      await payloads.removeAll(key);
      for (const one of [message, twin]) expect(await payloads.get(payloadKeyOf(one))).toBeUndefined();
      for (const one of others) expect(await payloads.get(payloadKeyOf(one))).toEqual(one);
    });
  });
};
