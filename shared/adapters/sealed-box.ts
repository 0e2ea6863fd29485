import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';

/** Bytes; the nonce and the tag that AES-GCM is made for (NIST SP 800-38D §5.2.1). */
const NONCE = 12;
const TAG = 16;

/** Encrypts under a 256-bit key, bound to `context`: opened with another one, the box is refused. */
export const sealBox = (key: Uint8Array, text: string, context: string): Buffer => {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG }).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
};

/** @throws where the box, its key or its context is not the one that it was sealed with. */
export const openBox = (key: Uint8Array, box: Buffer, context: string): string => {
  const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE), { authTagLength: TAG })
    .setAAD(Buffer.from(context))
    .setAuthTag(box.subarray(-TAG));
  return Buffer.concat([decipher.update(box.subarray(NONCE, -TAG)), decipher.final()]).toString('utf8');
};
