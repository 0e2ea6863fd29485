import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { errorLineOf } from '../../../shared/adapters/log/error-line.ts';

const SECRET = 'planted-secret';

const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

const response = { message: 'refused', $metadata: { httpStatusCode: 400, requestId: 'request-1' } };
const Item = { body: { S: SECRET } };
/** The SDK keeps the item of the response on the error. */
const refusal = new ConditionalCheckFailedException({ ...response, Item });
const cancellation = new TransactionCanceledException({ ...response, CancellationReasons: [{ Item }] });

describe('an error in the log', () => {
  it('has its name, message, code, stack and cause', () => {
    const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const line = errorLineOf(new TypeError('broken', { cause }));
    expect(line).toMatchObject({
      name: 'TypeError',
      message: 'broken',
      cause: { name: 'Error', message: 'reset', code: 'ECONNRESET' },
    });
    expect(line.stack).toMatch(/^\s+at .*error-line\.test\.ts/);
  });

  it('from AWS has the status and the id of the request', () => {
    expect(errorLineOf(refusal)).toMatchObject({
      name: 'ConditionalCheckFailedException',
      message: 'refused',
      httpStatus: 400,
      awsRequestId: 'request-1',
    });
  });

  it.each([
    ['the item that refused a write', refusal],
    ['the items that refused a transaction', cancellation],
    ['a response that caused another error', new Error('outer', { cause: refusal })],
    ['responses of several calls', new AggregateError([refusal, cancellation])],
    ['a text that is not JSON', thrownBy(() => JSON.parse(`${SECRET} {"data": 1}`))],
    ['an invalid URL', thrownBy(() => new URL(`https://[${SECRET}`))],
    ['an unreadable response', Object.assign(new Error('odd'), { $responseBodyText: SECRET })],
    ['a cause', new Error('outer', { cause: thrownBy(() => JSON.parse(SECRET)) })],
    [
      'one of several errors',
      new AggregateError([
        thrownBy(() => JSON.parse(SECRET)),
        Object.assign(new Error('b'), { body: SECRET }),
      ]),
    ],
  ])('contains no processed data: %s', (_, error) => {
    expect(JSON.stringify(errorLineOf(error))).not.toContain(SECRET);
  });

  it('contains the first of several errors', () => {
    const line = errorLineOf(new AggregateError(Array.from({ length: 9 }, (_, n) => new Error(`no. ${n}`))));
    expect(line.errors?.map(({ message }) => message)).toEqual(['no. 0', 'no. 1', 'no. 2']);
  });

  it('is limited in size for any message and any depth of causes', () => {
    let error = new Error('x'.repeat(100_000));
    for (let depth = 0; depth < 100; depth += 1) error = new Error('y'.repeat(100_000), { cause: error });
    expect(JSON.stringify(errorLineOf(error)).length).toBeLessThan(20_000);
    const wide = new AggregateError(Array.from({ length: 1_000 }, () => error));
    expect(JSON.stringify(errorLineOf(wide)).length).toBeLessThan(100_000);
  });

  it('may be of a value that is not an Error', () => {
    expect(errorLineOf('just text')).toMatchObject({ name: 'Error', message: 'just text' });
  });

  it('is complete even if the fields of the error have unexpected types', () => {
    const odd = Object.assign(new Error('odd'), { code: 7, $metadata: 'none' });
    expect(errorLineOf(odd)).toMatchObject({ name: 'Error', message: 'odd' });
  });
});
