import { randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { beforeAll } from 'vitest';
import { localAws } from '../../local/local-aws.ts';
import { s3Client } from '../../shared/adapters/s3/payloads.ts';
import { s3ReferencedData } from '../../shared/adapters/s3/referenced-data.ts';
import { deployment } from '../support/deployment.ts';
import { describeReferencedDataContract } from './referenced-data.contract.ts';

const s3 = s3Client(deployment.client);
const Bucket = `private-${randomUUID()}`;

beforeAll(async () => {
  await s3.send(new CreateBucketCommand({ Bucket }));
  const VersioningConfiguration = { Status: 'Enabled' as const };
  await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
});

describeReferencedDataContract('in S3', () =>
  Promise.resolve({
    referencedData: s3ReferencedData(s3),
    bucket: Bucket,
    owner: localAws.account,
    put: async (reference, Body) => {
      const { VersionId } = await s3.send(new PutObjectCommand({ Bucket, Key: reference.key, Body }));
      if (VersionId === undefined) throw new Error('S3 gave no version');
      return { ...reference, versionId: VersionId };
    },
    remove: async ({ key }) => {
      await s3.send(new DeleteObjectCommand({ Bucket, Key: key }));
    },
  }),
);
