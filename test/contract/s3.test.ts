import { randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll } from 'vitest';
import * as z from 'zod';
import { localAws } from '../../local/local-aws.ts';
import { s3Client, s3Payloads } from '../../shared/adapters/s3/payloads.ts';
import { s3ReferencedData } from '../../shared/adapters/s3/referenced-data.ts';
import { sqsUndeliverables } from '../../shared/adapters/sqs/dead-letters.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import { parseJson, propertySource } from '../../shared/wire/json-slice.ts';
import { deployment } from '../support/deployment.ts';
import { privateQueues } from '../support/private-queues.ts';
import { describePayloadsContract, describeReferencedDataContract } from './bodies.contract.ts';
import { describeUndeliverablesContract, type ReadNotice } from './queues.contract.ts';
import { undeliverableNoticeSchema } from '../../shared/wire/jobs/redrive.ts';

const s3 = s3Client(deployment.client);
const queues = privateQueues(deployment.sqs);
const bucket = `private-${randomUUID()}`;

beforeAll(async () => {
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
});
afterAll(queues.deleteAll);

describePayloadsContract('in S3', () => s3Payloads(s3, bucket));

const place = z.string().startsWith(`s3://${bucket}/`);

const noticeOf = async (body: string, payloads: Payloads): Promise<ReadNotice> => {
  const json = parseJson(body);
  if (json === undefined) throw new Error(`not JSON: ${body.slice(0, 100)}`);
  const notice = undeliverableNoticeSchema.parse(json.value);
  const { queue, messageId, subscriptionId, status, reason, attempts, dataRef } = notice;
  const stored =
    dataRef === undefined
      ? undefined
      : await payloads.get(place.parse(dataRef).slice(`s3://${bucket}/`.length));
  return {
    queue,
    messageId,
    subscriptionId,
    status,
    reason,
    attempts: attempts.length,
    data: propertySource(json, 'data') ?? stored?.data,
  };
};

describeUndeliverablesContract('in SQS', async () => {
  const queueUrl = await queues.create();
  const payloads = s3Payloads(s3, bucket);
  return {
    undeliverables: sqsUndeliverables(deployment.queues, payloads, { queueUrl, payloadBucket: bucket }),
    payloads,
    notices: async (count) =>
      Promise.all((await queues.arrivals(queueUrl, count)).map(({ body }) => noticeOf(body, payloads))),
  };
});

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
