import { MAX_REFERENCED_BYTES, type DataReference } from '../../../shared/domain/message/data-reference.ts';
import { parseJson, wholeSource } from '../../../shared/wire/json-slice.ts';
import type { ReadDataResult, ReferencedData } from '../../../shared/ports/bodies.ts';

type Stored = { reference: DataReference; bytes: Uint8Array };

/** Objects in memory. All buckets belong to one account. */
export const inMemoryReferencedData = () => {
  const owner = '111122223333';
  let objects: Stored[] = [];
  const asked: DataReference[] = [];
  const isMeant = ({ bucket, key, versionId }: DataReference, { reference }: Stored): boolean =>
    reference.bucket === bucket &&
    reference.key === key &&
    (versionId === undefined || reference.versionId === versionId);
  const remove = (reference: DataReference): void => {
    objects = objects.filter((object) => !isMeant(reference, object));
  };
  const read: ReferencedData['read'] = (reference, expectedOwner) => {
    asked.push(reference);
    if (expectedOwner !== owner) return Promise.resolve({ ok: false, reason: 'data_ref_denied' });
    const found = objects.findLast((object) => isMeant(reference, object));
    return Promise.resolve(
      found === undefined ? { ok: false, reason: 'data_ref_missing' } : readingOf(found.bytes),
    );
  };
  return {
    owner,
    /** All references that were read. */
    asked,
    remove,
    /** Stores an object. It replaces one with the same key, unless each has a version. */
    put: (reference: DataReference, bytes: Uint8Array): void => {
      objects.push({ reference, bytes });
    },
    read,
  };
};

const readingOf = (bytes: Uint8Array): ReadDataResult => {
  if (bytes.length > MAX_REFERENCED_BYTES) return { ok: false, reason: 'data_ref_too_large' };
  const text = Buffer.from(bytes).toString();
  const json = Buffer.from(text).equals(bytes) ? parseJson(text) : undefined;
  return json === undefined
    ? { ok: false, reason: 'data_ref_not_json' }
    : { ok: true, data: wholeSource(json) };
};
