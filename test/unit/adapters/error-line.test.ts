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

const answered = { message: 'refused', $metadata: { httpStatusCode: 400, requestId: 'request-1' } };
const Item = { body: { S: SECRET } };
/** The SDK keeps the item of the answer on the error. */
const refusal = new ConditionalCheckFailedException({ ...answered, Item });
const cancellation = new TransactionCanceledException({ ...answered, CancellationReasons: [{ Item }] });

describe('an error in the log', () => {
  it('has its name, its message, its code, where it came from and what caused it', () => {
    const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const line = errorLineOf(new TypeError('broken', { cause }));
    expect(line).toMatchObject({
      name: 'TypeError',
      message: 'broken',
      cause: { name: 'Error', message: 'reset', code: 'ECONNRESET' },
    });
    expect(line.stack).toMatch(/^\s+at .*error-line\.test\.ts/);
  });

  it('of AWS has the status and the id of the request', () => {
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
    ['an answer that caused another error', new Error('outer', { cause: refusal })],
    ['answers of several calls', new AggregateError([refusal, cancellation])],
    ['a text that is not JSON', thrownBy(() => JSON.parse(`${SECRET} {"data": 1}`))],
    ['a URL that is none', thrownBy(() => new URL(`https://[${SECRET}`))],
    ['an answer that was not understood', Object.assign(new Error('odd'), { $responseBodyText: SECRET })],
    ['a cause', new Error('outer', { cause: thrownBy(() => JSON.parse(SECRET)) })],
    [
      'one of several',
      new AggregateError([
        thrownBy(() => JSON.parse(SECRET)),
        Object.assign(new Error('b'), { body: SECRET }),
      ]),
    ],
  ])('says nothing of what was being worked on: %s', (_, error) => {
    expect(JSON.stringify(errorLineOf(error))).not.toContain(SECRET);
  });

  it('names the first of several', () => {
    const line = errorLineOf(new AggregateError(Array.from({ length: 9 }, (_, n) => new Error(`no. ${n}`))));
    expect(line.errors?.map(({ message }) => message)).toEqual(['no. 0', 'no. 1', 'no. 2']);
  });

  it('is bounded, however long its message and however deep its causes', () => {
    let error = new Error('x'.repeat(100_000));
    for (let depth = 0; depth < 100; depth += 1) error = new Error('y'.repeat(100_000), { cause: error });
    expect(JSON.stringify(errorLineOf(error)).length).toBeLessThan(20_000);
    const wide = new AggregateError(Array.from({ length: 1_000 }, () => error));
    expect(JSON.stringify(errorLineOf(wide)).length).toBeLessThan(100_000);
  });

  it('need not be an Error', () => {
    expect(errorLineOf('just text')).toMatchObject({ name: 'Error', message: 'just text' });
  });

  it('is told of though its facts are no facts', () => {
    const odd = Object.assign(new Error('odd'), { code: 7, $metadata: 'none' });
    expect(errorLineOf(odd)).toMatchObject({ name: 'Error', message: 'odd' });
  });
});
