import { describe, expect, it } from 'vitest';
import type { Call } from '../../test/support/call-log.ts';
import { unitsOfCall } from '../operations/compare.ts';
import { loads, requestsOf } from '../operations/loads.ts';

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

describe('a call', () => {
  it.each([
    { given: { writeUnits: 2, indexWriteUnits: { overdue: 1, 'by-queue': 2 } }, units: { writeUnits: 5 } },
    { given: { writeUnits: 1, refused: true, status: 400 }, units: { writeUnits: 1 } },
    { given: { operation: 'GetItem', readUnits: 0.5 }, units: { readUnits: 0.5 } },
    {
      given: { service: 'sqs', operation: 'SendMessageBatch', messageBytes: 65_537 },
      units: { sqsRequests: 2 },
    },
    { given: { service: 's3', operation: 'PutObject' }, units: { s3Puts: 1 } },
    { given: { service: 's3', operation: 'GetObject' }, units: { s3Gets: 1 } },
    { given: { service: 'events', operation: 'PutEvents' }, units: { events: 1 } },
  ])('counts in the units of AWS: $given is $units', ({ given, units }) => {
    expect(unitsOfCall(call(given))).toMatchObject(units);
  });

  it.each([
    call({ operation: 'Query' }),
    call({ service: 'sns', operation: 'Publish' }),
    call({ service: 's3', operation: 'ListBucket' }),
  ])('is refused where its price is unknown: $service $operation', (unknown) => {
    expect(() => unitsOfCall(unknown)).toThrow(unknown.operation);
  });
});

it.each([
  // Every fifth message is retried six times by one subscriber.
  { name: 'mixed', requests: 120 * 12 + 24 * 6 },
  { name: 'exhausted', requests: 30 * 20 },
  { name: 'pulled', requests: 0 },
])('the load $name makes $requests requests', (expected) => {
  const load = loads.find(({ name }) => name === expected.name);
  expect(load && requestsOf(load)).toBe(expected.requests);
});
