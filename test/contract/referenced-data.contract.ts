import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type DataReference, MAX_REFERENCED_BYTES } from '../../shared/domain/message/data-reference.ts';
import type { ReferencedData } from '../../shared/ports/bodies.ts';

/** `put` stores an object, or a new version of it, and returns the reference of that version. */
export type ReferencedDataUnderTest = {
  referencedData: ReferencedData;
  bucket: string;
  owner: string;
  put: (reference: DataReference, bytes: Uint8Array) => Promise<DataReference>;
  remove: (reference: DataReference) => Promise<void>;
};

const textOfBytes = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

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
    it.each([
      ['big integers, spaces and the order of keys', '{"b": 12345678901234567890,\n "a":1.0, "b": 1e400}'],
      ['any character', JSON.stringify('größer 日本 🐘 \u0000 \u2028 \ufffe \uffff')],
      ['escapes as they were written', '"\\u00e9 \\/ \\ud83d\\ude00 \\ud800"'],
      ['a single byte', '7'],
      ['1 MiB', textOfBytes(MAX_REFERENCED_BYTES)],
    ])('is returned unchanged: %s', async (_what, content) => {
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
      ['one byte over 1 MiB', textOfBytes(MAX_REFERENCED_BYTES + 1)],
      ['5 MiB that are not JSON either', Buffer.alloc(5 * 1024 * 1024)],
    ])('is refused as too large: %s', async (_what, content) => {
      const { referencedData, reference, owner } = await withObject(content);
      expect(await referencedData.read(reference, owner)).toEqual({
        ok: false,
        reason: 'data_ref_too_large',
      });
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
