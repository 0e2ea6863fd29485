import { describe, expect, it } from 'vitest';
import { atNoRecords, sentAlone, tallyOf } from '../operations/tally.ts';
import type { Call, Invocation } from '../../local/call-log.ts';

function call(given: Partial<Call>): Call {
  return {
    kind: 'call',
    at: 0,
    caller: 'arn:aws:sts::000000000000:assumed-role/DeliverRole/Deliver',
    service: 'dynamodb',
    operation: 'UpdateItem',
    status: 200,
    repeat: false,
    requestBytes: 100,
    responseBytes: 100,
    ...given,
  };
}

function invocation(given: Partial<Invocation>): Invocation {
  return {
    kind: 'invocation',
    at: 0,
    function: 'Deliver',
    memoryMegabytes: 512,
    ms: 10,
    cpuMs: 5,
    cold: false,
    logBytes: 300,
    records: 1,
    recordBytes: 100,
    ...given,
  };
}

const of = { functionName: 'Deliver', retryQueueUrl: 'https://sqs.test/0/Retry' };

describe('what a function asked', () => {
  it('is weighed as AWS counts it', () => {
    const units = tallyOf(
      [
        call({ item: 'q#m#0 DELIVERY#s', writeUnits: 2, indexWriteUnits: { overdue: 1, 'by-queue': 2 } }),
        call({ item: 'q#m#0 DELIVERY#s', writeUnits: 1, refused: true, status: 400 }),
        call({ item: 'q#m#0 CHUNK#0', writeUnits: 1, indexWriteUnits: {} }),
        call({ item: 'q#m#0 MESSAGE', writeUnits: 1, indexWriteUnits: {} }),
        call({ item: 'QUEUE#q SUB#s', writeUnits: 3, indexWriteUnits: {} }),
        call({ item: 'q#m#0 MESSAGE', operation: 'GetItem', readUnits: 1 }),
        call({ item: 'QUEUE#q META', operation: 'GetItem', readUnits: 0.5 }),
        call({ service: 'sqs', operation: 'SendMessageBatch', messages: 10, messageBytes: 65_537 }),
        call({ service: 'sqs', operation: 'SendMessage', messages: 1, messageBytes: 10 }),
        call({ service: 's3', operation: 'PutObject' }),
        call({ service: 's3', operation: 'DeleteObject' }),
        call({ service: 'scheduler', operation: 'CreateSchedule' }),
        call({ service: 'events', operation: 'PutEvents' }),
        call({ service: 'kms', operation: 'Decrypt' }),
        call({ service: 'events', operation: 'PutEvents', repeat: true }),
        invocation({ queue: 'arn:aws:sqs:r:a:Retry', records: 3 }),
        invocation({ queue: 'arn:aws:sqs:r:a:Delivery', records: 4 }),
        call({
          caller: 'arn:aws:sts::000000000000:assumed-role/ApiRole/Api',
          item: 'x MESSAGE',
          writeUnits: 1,
        }),
        invocation({ function: 'Api', records: 9 }),
      ],
      of,
    );
    expect(units).toEqual({
      deliveryWrites: 2,
      chunkWrites: 1,
      messageWrites: 1,
      messageReads: 1,
      otherWriteUnits: 3,
      indexWriteUnits: 3,
      otherReadUnits: 0.5,
      sendRequests: 3,
      joinedMessages: 10,
      firstRecords: 4,
      retryRecords: 3,
      schedules: 0,
      kmsRequests: 1,
      s3Puts: 1,
      s3Gets: 0,
      events: 1,
      awsCalls: 14,
      attempts: 0,
      logBytes: 0,
      cpuMs: 0,
    });
  });

  it.each([
    call({ operation: 'TransactWriteItems' }),
    call({ operation: 'Query' }),
    call({ service: 'sns', operation: 'Publish' }),
    call({ service: 's3', operation: 'ListBucket' }),
  ])('is refused where its weight is not known: $service $operation', (unknown) => {
    expect(() => tallyOf([unknown], of)).toThrow(unknown.operation);
  });
});

describe('what a function sent', () => {
  const batch = (messages: number, messageBytes: number): Call =>
    call({ service: 'sqs', operation: 'SendMessageBatch', messages, messageBytes });

  it('is taken for as many sends as there were, each by itself', () => {
    const calls = [
      batch(1, 200),
      // Two units of 64 KB.
      batch(9, 70_000),
      { ...batch(9, 70_000), repeat: true },
      // Notices are sent by themselves.
      call({ service: 'sqs', operation: 'SendMessage', messages: 1, messageBytes: 200 }),
      call({ service: 'kms', operation: 'Decrypt' }),
    ];
    const made = tallyOf(calls, of);
    expect(made).toMatchObject({ sendRequests: 4, joinedMessages: 10, awsCalls: 4 });
    expect(sentAlone(made, calls, 10)).toEqual({ ...made, sendRequests: 11, awsCalls: 12 });
    expect(sentAlone(made, calls, 4)).toEqual({ ...made, sendRequests: 5, awsCalls: 6 });
  });

  it('is left as it was where each did go by itself, or nothing was sent', () => {
    const calls = [batch(1, 200), batch(1, 200)];
    const made = tallyOf(calls, of);
    expect(sentAlone(made, calls, made.joinedMessages ?? 0)).toEqual(made);
    const none = tallyOf([], of);
    expect(sentAlone(none, [], 0)).toEqual(none);
  });
});

describe('what an invocation costs by itself', () => {
  it('is where the line through the points begins', () => {
    const points = [1, 2, 5, 10].map((records) => ({ records, value: 18 + 3 * records }));
    expect(atNoRecords(points)).toBeCloseTo(18, 10);
  });

  it('is nothing where there is no line, or it begins below nothing', () => {
    expect(atNoRecords([])).toBe(0);
    expect(
      atNoRecords([
        { records: 4, value: 7 },
        { records: 4, value: 9 },
      ]),
    ).toBe(0);
    expect(
      atNoRecords([
        { records: 1, value: 1 },
        { records: 2, value: 4 },
      ]),
    ).toBe(0);
  });
});
