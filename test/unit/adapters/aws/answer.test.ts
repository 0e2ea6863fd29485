import { describe, expect, it } from 'vitest';
import { AwsServiceError, isRefusal, resultOf } from '../../../../shared/adapters/aws/answer.ts';
import type { AwsAnswer } from '../../../../shared/adapters/aws/answer.ts';

const answer = (statusCode: number, body: unknown = {}, headers: AwsAnswer['headers'] = {}): AwsAnswer => ({
  statusCode,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

const errorOf = (given: AwsAnswer): AwsServiceError => {
  try {
    resultOf(given);
  } catch (error) {
    if (error instanceof AwsServiceError) return error;
    throw error;
  }
  throw new Error('It was no error.');
};

describe('an answer of a service', () => {
  it('is its result where the status is 200', () => {
    expect(resultOf(answer(200, { Item: {} }))).toEqual({ Item: {} });
  });

  it('without a body is an empty result', () => {
    expect(resultOf(answer(200, ''))).toEqual({});
  });

  it.each(['<html>', '{"half', 'x'])('that is no JSON is an error whatever its status: %s', (body) => {
    const error = errorOf(answer(200, body));
    expect(error).toMatchObject({ name: 'UnreadableAnswer', $metadata: { httpStatusCode: 200 } });
    expect(JSON.stringify(error) + error.message).not.toContain(body);
  });

  it.each([201, 204, 302, 400, 500])('with status %i is no result', (status) => {
    expect(errorOf(answer(status, '')).$metadata).toEqual({ httpStatusCode: status });
  });
});

describe('the code of an error', () => {
  const URI = 'http://internal.amazon.com/coral/com.amazonaws.service/';

  it.each<[string, AwsAnswer]>([
    ['a header', answer(400, {}, { 'x-amzn-errortype': 'Refused' })],
    ['a header with a URI', answer(400, {}, { 'x-amzn-errortype': `Refused:${URI}` })],
    [
      'a header with a namespace and a URI',
      answer(400, {}, { 'x-amzn-errortype': `aws.service#Refused:${URI}` }),
    ],
    ['the type in the body', answer(400, { __type: 'Refused' })],
    ['the type in the body with a namespace', answer(400, { __type: 'com.amazonaws.service#Refused' })],
    ['the code in the body', answer(400, { code: 'Refused' })],
    ['the header before the body', answer(400, { __type: 'Other' }, { 'x-amzn-errortype': 'Refused' })],
  ])('is taken from %s', (_, given) => {
    expect(errorOf(given).name).toBe('Refused');
    expect(isRefusal(errorOf(given), 'Refused')).toBe(true);
    expect(isRefusal(errorOf(given), 'Other')).toBe(false);
  });

  it.each([{}, [], null, 7, { __type: 7, code: null }, '<html>Busy</html>'])(
    'need not be there: %j',
    (body) => {
      expect(errorOf(answer(503, body))).toMatchObject({
        name: 'UnreadableAnswer',
        message: 'The service answered with status 503.',
        $metadata: { httpStatusCode: 503 },
      });
    },
  );

  it('is not that of an error of somebody else’s', () => {
    expect(isRefusal(Object.assign(new Error(), { name: 'Refused' }), 'Refused')).toBe(false);
  });
});

describe('an error of a service', () => {
  it.each(['message', 'Message'])('has its words where they stand under "%s"', (spelling) => {
    expect(errorOf(answer(400, { __type: 'Refused', [spelling]: 'told by the test' })).message).toBe(
      'told by the test',
    );
  });

  it('has the status, the id of the request and the whole answer', () => {
    const body = { __type: 'Refused', Item: { pk: { S: 'p' } }, CancellationReasons: [{ Code: 'None' }] };
    const error = errorOf(answer(400, body, { 'x-amzn-requestid': 'request-1' }));
    expect(error.$metadata).toEqual({ httpStatusCode: 400, requestId: 'request-1' });
    expect(error.answer()).toEqual(body);
  });

  it.each<[number | undefined, AwsAnswer['headers']]>([
    [120, { 'x-amz-retry-after': '120' }],
    [2_000, { 'retry-after': '2' }],
    [0, { 'retry-after': '0' }],
    [120, { 'x-amz-retry-after': '120', 'retry-after': '2' }],
    [2_000, { 'x-amz-retry-after': 'soon', 'retry-after': '2' }],
    [undefined, { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' }],
    [undefined, { 'retry-after': '-1' }],
    [undefined, {}],
  ])('asks to wait %d ms by %j', (milliseconds, headers) => {
    expect(errorOf(answer(503, {}, headers)).retryAfterMs).toBe(milliseconds);
  });
});
