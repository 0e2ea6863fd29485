import { CreateKeyCommand, KMSClient, ScheduleKeyDeletionCommand } from '@aws-sdk/client-kms';
import { afterAll } from 'vitest';
import { kmsSecretOpener, kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { deployment } from '../support/deployment.ts';
import { describeSigningSecretsContract } from './signing-secrets.contract.ts';

const kms = new KMSClient(deployment.client);
const made: string[] = [];

afterAll(async () => {
  for (const KeyId of made) await kms.send(new ScheduleKeyDeletionCommand({ KeyId, PendingWindowInDays: 7 }));
});

describeSigningSecretsContract('under a key of KMS', async () => {
  const { KeyMetadata } = await kms.send(new CreateKeyCommand({ Description: 'made by a test' }));
  if (KeyMetadata?.KeyId === undefined || KeyMetadata.Arn === undefined) throw new Error('KMS made no key');
  made.push(KeyMetadata.KeyId);
  return {
    ...kmsSecretSealer(deployment.keys, KeyMetadata.Arn),
    ...kmsSecretOpener(deployment.keys, { keyArn: KeyMetadata.Arn, clock: systemClock }),
  };
});
