import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toPayloadKey } from '../../shared/domain/message/body.ts';
import { type DataReference, MAX_REFERENCED_BYTES } from '../../shared/domain/message/data-reference.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import type { Payloads, ReferencedData } from '../../shared/ports/bodies.ts';
import { aMessage } from '../support/builders.ts';

/** A message that no other test uses. */
const aStoredMessage = (overrides: Partial<Message> = {}): Message =>
  aMessage({ id: randomUUID(), ...overrides });

const ofBytes = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

const perilous: [what: string, data: string][] = [
  ['big integers, spaces and the order of keys', '{"b": 12345678901234567890,\n "a":1.0, "b": 1e400}'],
  ['any character', JSON.stringify('größer 日本 🐘 \u0000 \u2028 \ufffe \uffff \ud800')],
  ['escapes as they were written', '"\\u00e9 \\/ \\ud83d\\ude00 \\ud800"'],
  ['a single byte', '7'],
  ['1 MiB', ofBytes(MAX_REFERENCED_BYTES)],
];

/** Contract of payload stores: a message is returned byte for byte; a missing one is undefined. */
export const describePayloadsContract = (name: string, make: () => Payloads): void => {
  describe(`payloads ${name}`, () => {
    const payloads = make();

    it.each([
      ...perilous,
      ['null', 'null'],
      ['1 MiB of multi-byte characters', JSON.stringify('é'.repeat(512 * 1024 - 1))],
    ])('return %s unchanged', async (_, data) => {
      const message = aStoredMessage({ data });
      await payloads.put(toPayloadKey(message), message);
      expect(await payloads.get(toPayloadKey(message))).toEqual(message);
    });

    it('return all fields of a message, and no others', async () => {
      const { type, ...bare } = aStoredMessage();
      const more = { originalId: 'an id/🐘 "', expiresAt: 1_800_000_000_000 };
      const full = aStoredMessage({ type: type ?? '', ...more });
      for (const message of [bare, full]) {
        await payloads.put(toPayloadKey(message), message);
        expect(await payloads.get(toPayloadKey(message))).toEqual(message);
      }
    });

    it('return nothing for an unused key', async () => {
      const message = aStoredMessage();
      await payloads.put(toPayloadKey(message), message);
      const key = toPayloadKey(message);
      for (const other of [`${key}x`, key.slice(0, -1), 'orders', randomUUID()])
        expect(await payloads.get(other)).toBeUndefined();
    });

    it('return the latest of several writes', async () => {
      const message = aStoredMessage();
      for (const data of ['1', '"a longer one"', '2'])
        await payloads.put(toPayloadKey(message), { ...message, data });
      expect(await payloads.get(toPayloadKey(message))).toEqual({ ...message, data: '2' });
    });

    it('return one of twenty concurrent writes completely', async () => {
      const message = aStoredMessage();
      const key = toPayloadKey(message);
      const texts = Array.from({ length: 20 }, (_, n) => JSON.stringify(`${n}`.repeat(2000)));
      const rivals = texts.map((data) => ({ ...message, data }));
      await Promise.all(rivals.map((rival) => payloads.put(key, rival)));
      expect(rivals).toContainEqual(await payloads.get(key));
    });

    it('are removed, also when removed twice', async () => {
      const [message, other] = [aStoredMessage(), aStoredMessage()];
      for (const one of [message, other]) await payloads.put(toPayloadKey(one), one);
      await payloads.remove(toPayloadKey(message));
      await payloads.remove(toPayloadKey(message));
      expect(await payloads.get(toPayloadKey(message))).toBeUndefined();
      expect(await payloads.get(toPayloadKey(other))).toEqual(other);
    });

    it('are removed under all keys of a message, and of no other message', async () => {
      const message = aStoredMessage();
      const twin = { ...message, data: '"under the same id"' };
      const others = [aStoredMessage(), { ...message, id: `${message.id}1` }, { ...message, queue: 'other' }];
      for (const one of [message, twin, ...others]) await payloads.put(toPayloadKey(one), one);
      const key = { queue: message.queue, messageId: message.id };
      await payloads.removeAll(key);
      await payloads.removeAll(key);
      for (const one of [message, twin]) expect(await payloads.get(toPayloadKey(one))).toBeUndefined();
      for (const one of others) expect(await payloads.get(toPayloadKey(one))).toEqual(one);
    });
  });
};

/** `put` stores an object, or a new version of it, and returns the reference of that version. */
type ReferencedDataUnderTest = {
  referencedData: ReferencedData;
  bucket: string;
  owner: string;
  put: (reference: DataReference, bytes: Uint8Array) => Promise<DataReference>;
  remove: (reference: DataReference) => Promise<void>;
};

/** Contract of referenced data: the unchanged content, or the reason why there is none. */
export const describeReferencedDataContract = (
  name: string,
  make: () => Promise<ReferencedDataUnderTest>,
): void => {
  const withObject = async (content: string | Uint8Array) => {
    const world = await make();
    const reference = { bucket: world.bucket, key: `webhooks/${randomUUID()} é+%2F.json` };
    const versioned = await world.put(reference, Buffer.from(content));
    return { ...world, reference, versioned };
  };

  describe(`referenced data ${name}`, () => {
    it.each(perilous)('is returned unchanged: %s', async (_what, content) => {
      const { referencedData, reference, owner } = await withObject(content);
      expect(await referencedData.read(reference, owner)).toEqual({ ok: true, data: content });
    });

    it('is returned without surrounding whitespace', async () => {
      const { referencedData, reference, owner } = await withObject(' {"n" : 1}\n');
      expect(await referencedData.read(reference, owner)).toEqual({ ok: true, data: '{"n" : 1}' });
    });

    it('is that of the requested version, and by default of the latest', async () => {
      const { referencedData, reference, versioned, owner, put } = await withObject('1');
      await put(reference, Buffer.from('2'));
      expect(await referencedData.read(versioned, owner)).toEqual({ ok: true, data: '1' });
      expect(await referencedData.read(reference, owner)).toEqual({ ok: true, data: '2' });
    });

    it.each<[string, string | Uint8Array]>([
      ['one byte over 1 MiB', ofBytes(MAX_REFERENCED_BYTES + 1)],
      ['5 MiB that are not JSON either', Buffer.alloc(5 * 1024 * 1024)],
    ])('is refused as too large: %s', async (_what, content) => {
      const { referencedData, reference, owner } = await withObject(content);
      const refused = { ok: false, reason: 'data_ref_too_large' };
      expect(await referencedData.read(reference, owner)).toEqual(refused);
    });

    it.each<[string, string | Uint8Array]>([
      ['nothing', ''],
      ['text', 'hello'],
      ['two values', '{}{}'],
      ['a byte order mark before it', '\ufeff{}'],
      ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
      ['half a surrogate pair', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ])('is refused as not JSON: %s', async (_what, content) => {
      const { referencedData, reference, owner } = await withObject(content);
      expect(await referencedData.read(reference, owner)).toEqual({ ok: false, reason: 'data_ref_not_json' });
    });

    it('is missing if the object or the version does not exist or was removed', async () => {
      const { referencedData, reference, owner, remove } = await withObject('1');
      const missing = { ok: false, reason: 'data_ref_missing' };
      const elsewhere = { ...reference, key: `${reference.key}x` };
      expect(await referencedData.read(elsewhere, owner)).toEqual(missing);
      expect(await referencedData.read({ ...reference, versionId: randomUUID() }, owner)).toEqual(missing);
      await remove(reference);
      expect(await referencedData.read(reference, owner)).toEqual(missing);
    });
  });
};
