import type { DecryptCommandInput, GenerateDataKeyCommandInput } from '@aws-sdk/client-kms';
import * as z from 'zod';
import { jsonService } from './service.ts';
import type { ServiceOptions } from './service-options.ts';

/** What our functions ask of KMS, by the words of its API reference. */
export type KeyClient = {
  decrypt: (
    input: Pick<DecryptCommandInput, 'KeyId' | 'CiphertextBlob' | 'EncryptionContext'>,
  ) => Promise<{ Plaintext: Uint8Array }>;
  generateDataKey: (
    input: Pick<GenerateDataKeyCommandInput, 'KeyId' | 'KeySpec' | 'EncryptionContext'>,
  ) => Promise<{ Plaintext: Uint8Array; CiphertextBlob: Uint8Array }>;
};

const KMS = { id: 'kms', target: 'TrentService', version: '1.1' } as const;

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));

const decryptedSchema = z.object({ Plaintext: bytes });
const dataKeySchema = z.object({ Plaintext: bytes, CiphertextBlob: bytes });

export function kmsClient(options: ServiceOptions): KeyClient {
  const call = jsonService(KMS, options);
  return {
    decrypt: async ({ CiphertextBlob, ...input }) => {
      const text = Buffer.from(CiphertextBlob ?? []).toString('base64');
      return decryptedSchema.parse(await call('Decrypt', { ...input, CiphertextBlob: text }));
    },
    generateDataKey: async (input) => dataKeySchema.parse(await call('GenerateDataKey', input)),
  };
}
