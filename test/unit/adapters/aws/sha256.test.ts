import { Sha256Node } from '@smithy/core/checksum';
import { describe, expect, it } from 'vitest';
import { Sha256 } from '../../../../shared/adapters/aws/sha256.ts';

const bytes = Uint8Array.from({ length: 40 }, (_, index) => index * 7);
const text = new TextEncoder().encode('a request to sign');

describe('the SHA-256 of signatures', () => {
  it.each([
    ['no key', undefined],
    ['a text', 'AWS4secret'],
    ['bytes', bytes],
    ['a part of a buffer', bytes.subarray(3, 35)],
    ['a buffer', bytes.buffer],
  ])("equals that of the SDK's own class with %s as its key", async (_key, secret) => {
    const [ours, theirs] = [new Sha256(secret), new Sha256Node(secret)];
    for (const hash of [ours, theirs]) {
      hash.update(text.subarray(0, 5));
      hash.update(text.subarray(5));
    }
    expect(Buffer.from(await ours.digest())).toEqual(Buffer.from(await theirs.digest()));
  });

  it.each([[undefined], [bytes]])('begins anew after a reset', async (secret) => {
    const hash = new Sha256(secret);
    hash.update(text);
    const digest = await hash.digest();
    hash.reset();
    hash.update(text);
    await expect(hash.digest()).resolves.toEqual(digest);
  });
});
