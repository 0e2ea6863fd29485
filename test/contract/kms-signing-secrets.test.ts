import { CreateKeyCommand, KMSClient, ScheduleKeyDeletionCommand } from '@aws-sdk/client-kms';
import { afterAll } from 'vitest';
import { kmsSecretOpener, kmsSecretSealer } from '../../shared/adapters/kms-signing-secrets.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { deployment } from '../support/deployment.ts';
import { describeSigningSecretsContract } from './signing-secrets.contract.ts';

const { endpoint, region } = deployment.endpoints;
const kms = new KMSClient({
  endpoint,
  region,
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
});
const keys: string[] = [];

afterAll(async () => {
  for (const KeyId of keys) await kms.send(new ScheduleKeyDeletionCommand({ KeyId, PendingWindowInDays: 7 }));
});

describeSigningSecretsContract('under a key of KMS', async () => {
  const { KeyMetadata } = await kms.send(new CreateKeyCommand({ Description: 'made by a test' }));
  if (KeyMetadata?.KeyId === undefined || KeyMetadata.Arn === undefined) throw new Error('KMS made no key');
  keys.push(KeyMetadata.KeyId);
  return {
    ...kmsSecretSealer(kms, KeyMetadata.Arn),
    ...kmsSecretOpener(kms, { keyArn: KeyMetadata.Arn, clock: systemClock }),
  };
});
