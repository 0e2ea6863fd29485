import type { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import {
  documentClient,
  s3Client,
  schedulerClient,
  sqsClient,
} from '../../../shared/adapters/aws-clients.ts';
import { awsStub } from './aws-stub.ts';

type HttpRequest = Parameters<SQSClient['config']['requestHandler']['handle']>[0];

const everyClient = () => [documentClient(), s3Client(), schedulerClient(), sqsClient()];

describe('every client', () => {
  it('makes a request three times at most', async () => {
    const attempts = await Promise.all(everyClient().map(({ config }) => config.maxAttempts()));
    expect(attempts).toEqual([3, 3, 3, 3]);
  });

  it('gives up on a service that takes a request and does not answer', async () => {
    const stub = await awsStub(() => 'silence');
    const { hostname, port } = new URL(stub.config.endpoint);
    const request = (): HttpRequest =>
      ({
        protocol: 'http:',
        hostname,
        port: Number(port),
        method: 'GET',
        path: '/',
        query: {},
        headers: {},
      }) as HttpRequest;
    const outcomes = await Promise.allSettled(
      everyClient().map(({ config }) => config.requestHandler.handle(request())),
    );
    await stub.close();
    expect(outcomes).toMatchObject(
      outcomes.map(() => ({ status: 'rejected', reason: { name: 'TimeoutError' } })),
    );
    expect(stub.requests).toHaveLength(4);
  });
});
