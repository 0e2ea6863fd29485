import { randomUUID } from 'node:crypto';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll } from 'vitest';
import * as z from 'zod';
import { s3Client, s3Payloads } from '../../shared/adapters/s3/payloads.ts';
import { sqsUndeliverables } from '../../shared/adapters/sqs/dead-letters.ts';
import { parseJson, propertySource } from '../../shared/wire/json-slice.ts';
import { undeliverableNoticeSchema } from '../../shared/wire/jobs/dead-letter.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import { deployment } from '../support/deployment.ts';
import { privateQueues } from '../support/private-queues.ts';
import { describePayloadsContract } from './payloads.contract.ts';
import { describeUndeliverablesContract, type ReadNotice } from './undeliverables.contract.ts';

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
