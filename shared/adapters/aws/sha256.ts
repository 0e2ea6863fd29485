import { createHash, createHmac, createSecretKey } from 'node:crypto';

type Hashed = string | ArrayBuffer | ArrayBufferView;

/**
 * SHA-256, or HMAC of it where there is a secret, as the SDK's signer takes them. Node looks seven times as long at a key
 * that comes as bytes as it takes for the whole of one that is a key already (docs/performance.md).
 */
export class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: Hashed) {
    this.#hash =
      secret === undefined ? createHash('sha256') : createHmac('sha256', createSecretKey(bytesOf(secret)));
  }

  update(data: Hashed): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  /** The signer never asks for it: it makes one for each text. */
  reset(): never {
    throw new Error('A hash is used once.');
  }
}

function bytesOf(data: Hashed): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
