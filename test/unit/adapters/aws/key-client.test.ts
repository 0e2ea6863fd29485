import { describe, expect, it } from 'vitest';
import { kmsClient } from '../../../../shared/adapters/aws/key-client.ts';
import { askedOf, ok, stubbedService, targetsOf } from './stubbed-service.ts';

const KeyId = 'arn:aws:kms:us-east-1:000000000000:key/secrets';
const EncryptionContext = { queue: 'orders' };
/** The second needs no padding in base64, the third two of it; both characters that are not in base64url are there. */
const [plain, sealed, short] = [Uint8Array.of(0, 255, 254), Uint8Array.of(251, 240, 0), Uint8Array.of(62)];

describe('a key of KMS', () => {
  it('opens what was sealed by it, bytes on the wire as base64', async () => {
    const { options, requests } = await stubbedService(
      ok({ KeyId, Plaintext: 'AP/+' }),
      ok({ Plaintext: 'Pg==' }),
    );
    const kms = kmsClient(options);
    const opened = await kms.decrypt({ KeyId, CiphertextBlob: sealed, EncryptionContext });
    expect(new Uint8Array(opened.Plaintext)).toEqual(plain);
    const other = await kms.decrypt({ KeyId, CiphertextBlob: short });
    expect(new Uint8Array(other.Plaintext)).toEqual(short);
    expect(targetsOf(requests)).toEqual(['TrentService.Decrypt', 'TrentService.Decrypt']);
    expect(requests[0]?.headers['content-type']).toBe('application/x-amz-json-1.1');
    expect(askedOf(requests)).toEqual([
      { KeyId, CiphertextBlob: '+/AA', EncryptionContext },
      { KeyId, CiphertextBlob: 'Pg==' },
    ]);
  });

  it('gives data keys, open and sealed', async () => {
    const { options, requests } = await stubbedService(
      ok({ KeyId, Plaintext: 'AP/+', CiphertextBlob: '+/AA' }),
    );
    const asked = { KeyId, KeySpec: 'AES_256' as const, EncryptionContext };
    const given = await kmsClient(options).generateDataKey(asked);
    expect(new Uint8Array(given.Plaintext)).toEqual(plain);
    expect(new Uint8Array(given.CiphertextBlob)).toEqual(sealed);
    expect(targetsOf(requests)).toEqual(['TrentService.GenerateDataKey']);
    expect(askedOf(requests)).toEqual([asked]);
  });

  it('that answers without a key, or with what is no base64, is an error that does not quote it', async () => {
    const { options } = await stubbedService(ok({ KeyId }), ok({ KeyId, Plaintext: 'planted secret' }));
    const kms = kmsClient(options);
    await expect(kms.decrypt({ KeyId, CiphertextBlob: sealed })).rejects.toThrow();
    const failure: unknown = await kms
      .decrypt({ KeyId, CiphertextBlob: sealed })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).not.toContain('planted secret');
  });
});
