import { describe, expect, it } from 'vitest';
import { AwsServiceError, resultOf } from '../../../shared/adapters/aws/answer.ts';
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

/** As our clients throw it of what DynamoDB answered. */
const refusalBy = (answer: object): unknown =>
  thrownBy(() =>
    resultOf({
      statusCode: 400,
      headers: { 'x-amzn-requestid': 'request-1' },
      body: JSON.stringify({
        __type: 'com.amazonaws.dynamodb#RefusedException',
        message: 'refused',
        ...answer,
      }),
    }),
  );

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
    expect(errorLineOf(refusalBy({}))).toMatchObject({
      name: 'RefusedException',
      message: 'refused',
      httpStatus: 400,
      awsRequestId: 'request-1',
    });
  });

  it.each([
    ['the item that refused a write', refusalBy({ Item: { body: { S: SECRET } } })],
    [
      'the items that refused a transaction',
      refusalBy({ CancellationReasons: [{ Item: { body: { S: SECRET } } }] }),
    ],
    ['an answer of which nothing is known', refusalBy({ [SECRET]: SECRET })],
    [
      'an answer that is no JSON',
      thrownBy(() => resultOf({ statusCode: 503, headers: {}, body: `<p>${SECRET}` })),
    ],
    [
      'an answer that caused another error',
      new Error('outer', { cause: refusalBy({ Item: { body: { S: SECRET } } }) }),
    ],
    [
      'answers of several calls',
      new AggregateError([refusalBy({ Item: { body: { S: SECRET } } }), refusalBy({ secret: SECRET })]),
    ],
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

  it('of AWS that brings a whole answer has nothing of it but its code and words', () => {
    const answer = { Item: { body: { S: SECRET } } };
    const error = new AwsServiceError({ name: 'RefusedException', message: 'refused', status: 400, answer });
    expect(error.answer()).toEqual(answer);
    const { stack, ...line } = errorLineOf(error);
    expect(line).toEqual({ name: 'RefusedException', message: 'refused', httpStatus: 400 });
    expect(stack).not.toContain(SECRET);
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
