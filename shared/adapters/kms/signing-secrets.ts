import { DecryptCommand, GenerateDataKeyCommand, KMSClient, type KMSClientConfig } from '@aws-sdk/client-kms';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { parseAuth } from '../../domain/subscription/auth.ts';
import { parseSecret, secretText } from '../../domain/subscription/signing-secret.ts';
import type { SubscriptionKey } from '../../domain/subscription/subscription.ts';
import type { Clock } from '../../ports/clock.ts';
import { type SecretOpener, type SecretSealer, UnopenedSecretError } from '../../ports/subscriptions.ts';
import { clientOptions, type ClientOptions, slim } from '../aws/client-options.ts';
import { readCache } from '../read-cache.ts';

/** How long a function may use a decrypted secret from memory, even if KMS refuses meanwhile. Milliseconds. */
const OPENED_AGE_MS = 60 * 60 * 1000;

/** Number of cached secrets. Each has 32 bytes, and a few hundred in sealed form: a few megabytes at most. */
const MAX_OPENED = 10_000;

/** Cached credentials, in characters of JSON. With their sealed forms they take about three times as many bytes. */
const MAX_OPENED_AUTH = 4 * 1024 * 1024;

/** Version of the sealed text: `1.<data key, encrypted by KMS>.<secret, encrypted under it>`, both base64url. */
const VERSION = '1';

/**
 * A sealed secret that this version did not write, or that was tampered with. The message never contains the
 * secret.
 */
class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

/** The KMS response contained no key. */
class NoKeyError extends Error {
  override readonly name = 'NoKeyError';

  constructor() {
    super('The KMS response contains no key.');
  }
}

/**
 * Encrypts each secret under a separate data key from KMS, with the owner as encryption context. Needs only
 * kms:GenerateDataKey: it can encrypt, but not decrypt. AWS errors pass through.
 */
export function kmsSecretSealer(kms: KMSClient, keyArn: string): SecretSealer {
  const sealText = async (owner: SubscriptionKey, text: string): Promise<string> => {
    const { Plaintext, CiphertextBlob } = await kms.send(
      new GenerateDataKeyCommand({
        KeyId: keyArn,
        KeySpec: 'AES_256',
        EncryptionContext: buildContext(owner),
      }),
    );
    if (Plaintext === undefined || CiphertextBlob === undefined) throw new NoKeyError();
    const box = sealBox(Plaintext, text, ownerText(owner));
    return [VERSION, base64url(CiphertextBlob), base64url(box)].join('.');
  };
  return {
    seal: (owner, secret) => sealText(owner, secretText(secret)),
    sealAuth: (owner, auth) => sealText(owner, JSON.stringify(auth)),
  };
}

/**
 * Decrypts secrets. Needs kms:Decrypt. A secret is decrypted at most once an hour; concurrent callers share the
 * request.
 */
export function kmsSecretOpener(
  kms: KMSClient,
  options: { keyArn: string; clock: Pick<Clock, 'now'> },
): SecretOpener {
  const decrypted = async (owner: SubscriptionKey, sealed: string): Promise<string> => {
    const { dataKey, box } = parseSealed(sealed);
    const { Plaintext } = await kms.send(
      new DecryptCommand({
        KeyId: options.keyArn,
        CiphertextBlob: Buffer.from(dataKey, 'base64url'),
        EncryptionContext: buildContext(owner),
      }),
    );
    if (Plaintext === undefined) throw new NoKeyError();
    return openBox(Plaintext, box, ownerText(owner));
  };

  /** Opens and caches what `parse` reads in the text. */
  const cachedOpener = <Opened>(
    parse: (text: string) => Opened | undefined,
    maxWeight: number,
    weightOf: (opened: Opened) => number,
  ) => {
    const cache = readCache<Opened>({ clock: options.clock, maxAgeMs: OPENED_AGE_MS, maxWeight, weightOf });
    return async (owner: SubscriptionKey, sealed: string): Promise<Opened> => {
      try {
        const name = `${ownerText(owner)} ${sealed}`;
        const opened = await cache.cached(name, async () => parse(await decrypted(owner, sealed)));
        if (opened === undefined) throw new UnreadableSecretError('The decrypted text has another form');
        return opened;
      } catch (cause) {
        throw new UnopenedSecretError(owner, { cause });
      }
    };
  };

  return {
    open: cachedOpener(parseSecret, MAX_OPENED, () => 1),
    openAuth: cachedOpener(parseAuth, MAX_OPENED_AUTH, (auth) => JSON.stringify(auth).length),
  };
}

/** Visible in CloudTrail, and usable as a condition in a key policy. */
function buildContext({ queue, subscriptionId }: SubscriptionKey) {
  return { queue, subscription: subscriptionId };
}

/**
 * Additional data for AES-GCM, besides the KMS context: a box stays bound to its owner even if its data key
 * leaks.
 */
function ownerText({ queue, subscriptionId }: SubscriptionKey): string {
  return JSON.stringify([queue, subscriptionId]);
}

function parseSealed(sealed: string): { dataKey: string; box: Buffer } {
  const [version, dataKey, box, ...rest] = sealed.split('.');
  if (version !== VERSION || dataKey === undefined || box === undefined || rest.length > 0) {
    throw new UnreadableSecretError('The sealed secret has an unknown version');
  }
  return { dataKey, box: Buffer.from(box, 'base64url') };
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

const CIPHER = 'aes-256-gcm';

/** Bytes; the sizes of nonce and tag recommended for AES-GCM (NIST SP 800-38D §5.2.1). */
const NONCE = 12;
const TAG = 16;

/** Encrypts under a 256-bit key, bound to `context`: a different context cannot open it. */
export function sealBox(key: Uint8Array, text: string, context: string): Buffer {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG }).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts.
 * @throws if the box, its key or its context is not the one it was sealed with
 */
function openBox(key: Uint8Array, box: Buffer, context: string): string {
  const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE), { authTagLength: TAG })
    .setAAD(Buffer.from(context))
    .setAuthTag(box.subarray(-TAG));
  return Buffer.concat([decipher.update(box.subarray(NONCE, -TAG)), decipher.final()]).toString('utf8');
}

export function kmsClient(options: ClientOptions<KMSClientConfig> = {}): KMSClient {
  return slim(new KMSClient(clientOptions('kms', options)));
}
