import { DecryptCommand, GenerateDataKeyCommand, type KMSClient } from '@aws-sdk/client-kms';
import { parseSecret, secretText } from '../domain/signing-secret.ts';
import type { Clock } from '../ports/clock.ts';
import { UnopenedSecretError } from '../ports/signing-secrets.ts';
import type { SecretOpener, SecretOwner, SecretSealer } from '../ports/signing-secrets.ts';
import { readCache } from './read-cache.ts';
import { openBox, sealBox } from './sealed-box.ts';

/** How long after KMS was told to refuse a function may still open what it opened before. */
const DATA_KEY_AGE_MS = 60 * 60 * 1000;

/** 32 bytes each, with their ciphertext some hundreds: a few megabytes at the most. */
const MAX_DATA_KEYS = 10_000;

/** Version of the sealed text: `1.<data key, encrypted by KMS>.<secret, encrypted under it>`, both base64url. */
const VERSION = '1';

/** A sealed secret that this version of the code did not write, or that somebody changed. Never says what it holds. */
export class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

/**
 * Each secret under a data key of its own, which KMS makes and encrypts with the owner as encryption context. Needs
 * kms:GenerateDataKey only: what was sealed cannot be opened here. Errors of the SDK pass through.
 */
export const kmsSecretSealer = (kms: KMSClient, keyArn: string): SecretSealer => ({
  seal: async (owner, secret) => {
    const { Plaintext, CiphertextBlob } = await kms.send(
      new GenerateDataKeyCommand({ KeyId: keyArn, KeySpec: 'AES_256', EncryptionContext: contextOf(owner) }),
    );
    const box = sealBox(given(Plaintext), secretText(secret), boundTo(owner));
    return [VERSION, base64url(given(CiphertextBlob)), base64url(box)].join('.');
  },
});

/** Needs kms:Decrypt. A data key is asked for once in an hour; concurrent askers share the request. */
export const kmsSecretOpener = (
  kms: KMSClient,
  options: { keyArn: string; clock: Pick<Clock, 'now'> },
): SecretOpener => {
  const dataKeys = readCache<Uint8Array>({
    clock: options.clock,
    maxAgeMs: DATA_KEY_AGE_MS,
    maxWeight: MAX_DATA_KEYS,
    weightOf: () => 1,
  });

  const decrypted = async (owner: SecretOwner, dataKey: string): Promise<Uint8Array> => {
    const { Plaintext } = await kms.send(
      new DecryptCommand({
        KeyId: options.keyArn,
        CiphertextBlob: Buffer.from(dataKey, 'base64url'),
        EncryptionContext: contextOf(owner),
      }),
    );
    return given(Plaintext);
  };

  const opened = async (owner: SecretOwner, sealed: string) => {
    const { dataKey, box } = partsOf(sealed);
    const key = await dataKeys.cached(dataKey, () => decrypted(owner, dataKey));
    const secret = parseSecret(openBox(given(key), box, boundTo(owner)));
    if (secret === undefined) throw new UnreadableSecretError('What was sealed is no signing secret');
    return secret;
  };

  return {
    open: async (owner, sealed) => {
      try {
        return await opened(owner, sealed);
      } catch (cause) {
        throw new UnopenedSecretError(owner, { cause });
      }
    },
  };
};

/** In the clear in CloudTrail, and what a key policy can ask for. */
const contextOf = ({ queue, subscriptionId }: SecretOwner) => ({ queue, subscription: subscriptionId });

/** A data key that is cached meets no KMS, so the box is bound to its owner by itself. */
const boundTo = ({ queue, subscriptionId }: SecretOwner): string => JSON.stringify([queue, subscriptionId]);

const partsOf = (sealed: string): { dataKey: string; box: Buffer } => {
  const [version, dataKey, box, ...rest] = sealed.split('.');
  if (version !== VERSION || dataKey === undefined || box === undefined || rest.length > 0) {
    throw new UnreadableSecretError('The sealed secret is of no version that is known here');
  }
  return { dataKey, box: Buffer.from(box, 'base64url') };
};

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** The SDK leaves room for answers without it; KMS gives none (API reference, GenerateDataKey and Decrypt). */
const given = (bytes: Uint8Array | undefined): Uint8Array => {
  if (bytes === undefined) throw new UnreadableSecretError('KMS answered without a key');
  return bytes;
};
