import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inMemoryJournal } from '../../../support/in-memory/in-memory-journal.ts';
import type { AwsStub } from '../../../support/aws-stub.ts';
import { everyClient, fault, faultOf, serviceThat, SUCCESS, type Client } from './calls-of-every-client.ts';

const stubs: AwsStub[] = [];
beforeEach(() => {
  // No waits between retries.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(stubs.splice(0).map((stub) => stub.close()));
});

describe('the journal of failed AWS calls', () => {
  const services: Record<Client, string> = {
    DynamoDB: 'dynamodb',
    EventBridge: 'events',
    KMS: 'kms',
    S3: 's3',
    Scheduler: 'scheduler',
    SQS: 'sqs',
  };

  it.each(everyClient)('contains every throttled request, and whether it was retried: %s', async (client) => {
    const journal = inMemoryJournal();
    const { calls } = await serviceThat(stubs, [faultOf(client, 400, 'ThrottlingException')], { journal });
    await expect(calls[client]()).rejects.toThrow();
    const failed = { fact: 'aws_call_failed', awsService: services[client], throttled: true };
    expect(journal.facts).toMatchObject([
      { ...failed, repeated: true },
      { ...failed, repeated: true },
      { ...failed, repeated: false },
    ]);
  });

  it.each(everyClient)(
    'contains lost requests, as not throttled, with the name of the error: %s',
    async (client) => {
      const journal = inMemoryJournal();
      const { calls } = await serviceThat(stubs, ['hang_up', SUCCESS], { journal });
      await calls[client]();
      expect(journal.facts).toEqual([
        {
          fact: 'aws_call_failed',
          awsService: services[client],
          reason: 'TimeoutError',
          throttled: false,
          repeated: true,
        },
      ]);
    },
  );

  it.each(everyClient)('contains a request that there was no time to retry: %s', async (client) => {
    const journal = inMemoryJournal();
    const deadline = { remainingMs: () => 499 };
    const throttled = faultOf(client, 400, 'ThrottlingException');
    const { calls } = await serviceThat(stubs, [throttled], { journal, deadline });
    await expect(calls[client]()).rejects.toThrow();
    expect(journal.facts).toMatchObject([{ throttled: true, repeated: false }]);
  });

  it.each(everyClient)('contains no successes and no refusals: %s', async (client) => {
    const journal = inMemoryJournal();
    const refused = faultOf(client, 400, 'ConditionalCheckFailedException');
    const { calls } = await serviceThat(stubs, [SUCCESS, refused], { journal });
    await calls[client]();
    await expect(calls[client]()).rejects.toThrow();
    expect(journal.facts).toEqual([]);
  });

  it('contains a write that conflicted with a transaction', async () => {
    const journal = inMemoryJournal();
    const conflict = fault(400, 'TransactionConflictException');
    const { calls } = await serviceThat(stubs, [conflict, SUCCESS], { journal });
    await calls.DynamoDB();
    expect(journal.facts).toMatchObject([{ reason: 'TransactionConflictException', throttled: false }]);
  });
});
