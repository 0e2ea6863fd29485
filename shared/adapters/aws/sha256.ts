import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';

type Secret = string | ArrayBuffer | ArrayBufferView;

/**
 * SHA-256 for the signatures of requests, in place of the SDK's class, whose keys are bytes: for such a key Node 24 makes an
 * error with its stack and catches it, most of the time of an HMAC.
 */
export class Sha256 {
  readonly #secret: Secret | undefined;
  #hash: ReturnType<typeof makeHash>;

  constructor(secret?: Secret) {
    this.#secret = secret;
    this.#hash = makeHash(secret);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = makeHash(this.#secret);
  }
}

function makeHash(secret: Secret | undefined) {
  return secret === undefined ? createHash('sha256') : createHmac('sha256', keyFrom(secret));
}

/** The SDK signs with the same key for a day. */
const keys = new WeakMap<object, KeyObject>();

function keyFrom(secret: Secret): string | KeyObject {
  if (typeof secret === 'string') return secret;
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(toBuffer(secret));
  keys.set(secret, key);
  return key;
}

function toBuffer(bytes: ArrayBuffer | ArrayBufferView): Buffer {
  return ArrayBuffer.isView(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : Buffer.from(bytes);
}
