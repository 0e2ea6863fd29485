import { describe, expect, it } from 'vitest';
import type { Call, Invocation } from '../../local/call-log.ts';
import { atNoRecords, sentAlone, tallyOf } from '../operations/tally.ts';

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

describe('the calls of a function', () => {
  it('count in the units of AWS', () => {
    const units = tallyOf(
      [
        call({ item: 'q#m#0 DELIVERY#s', writeUnits: 2, indexWriteUnits: { overdue: 1, 'by-queue': 2 } }),
        call({ item: 'q#m#0 DELIVERY#s', writeUnits: 1, refused: true, status: 400 }),
        call({ item: 'q#m#0 CHUNK#0', writeUnits: 1, indexWriteUnits: {} }),
        call({ item: 'q#m#0 MESSAGE', writeUnits: 1, indexWriteUnits: {} }),
        call({ item: 'QUEUE#q SUB#s', writeUnits: 3, indexWriteUnits: {} }),
        call({ item: 'q#2026-11-21#statistics 12:00', writeUnits: 1, indexWriteUnits: {} }),
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
    expect(units).toMatchObject({
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
      kmsRequests: 1,
      s3Puts: 1,
      events: 1,
      awsCalls: 14,
    });
  });

  it.each([
    call({ operation: 'TransactWriteItems' }),
    call({ operation: 'Query' }),
    call({ service: 'sns', operation: 'Publish' }),
    call({ service: 's3', operation: 'ListBucket' }),
  ])('are refused where their price is unknown: $service $operation', (unknown) => {
    expect(() => tallyOf([unknown], of)).toThrow(unknown.operation);
  });

  it('count joined sends as separate ones, each in one request', () => {
    const batch = (messages: number, messageBytes: number): Call =>
      call({ service: 'sqs', operation: 'SendMessageBatch', messages, messageBytes });
    const calls = [
      batch(1, 200),
      // Two units of 64 KB.
      batch(9, 70_000),
      { ...batch(9, 70_000), repeat: true },
      call({ service: 'sqs', operation: 'SendMessage', messages: 1, messageBytes: 200 }),
    ];
    const made = tallyOf(calls, of);
    expect(made).toMatchObject({ sendRequests: 4, joinedMessages: 10, awsCalls: 3 });
    expect(sentAlone(made, calls, 10)).toEqual({ ...made, sendRequests: 11, awsCalls: 11 });
  });
});

it('an invocation costs the height at 0 of the line through its points, and nothing where there is no line', () => {
  const points = [1, 2, 5, 10].map((records) => ({ records, value: 18 + 3 * records }));
  expect(atNoRecords(points)).toBeCloseTo(18, 10);
  expect(atNoRecords([])).toBe(0);
  expect(atNoRecords(points.slice(0, 1))).toBe(0);
  expect(atNoRecords(points.map(({ records }) => ({ records, value: 3 * records - 2 })))).toBe(0);
});
