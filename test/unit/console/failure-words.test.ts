import { describe, expect, it } from 'vitest';
import { failureWords, isTransient } from '../../../console/src/api/failure-words.ts';
import { NoResponse } from '../../../console/src/api/page-requests.ts';
import { ApiRefusal, UnknownAnswer } from '../../../api-client/refusal.ts';
import { consoleFailureCodes } from '../../../shared/wire/views/console.ts';

const refusal = (code: string, fields?: object[]): ApiRefusal =>
  new ApiRefusal('GET /v2/queues', 502, JSON.stringify({ error: { code, message: 'it is so', fields } }));

describe('failureWords', () => {
  it.each(consoleFailureCodes)('has a title and an advice for %s', (code) => {
    const { title, detail, advice } = failureWords(refusal(code));
    expect(title).not.toMatch(/responded with 502/);
    expect(detail).toBe('It is so.');
    expect(advice).toBeTruthy();
  });

  it('names the fields that the API rejects', () => {
    const fields = [{ field: 'subscriber', message: 'must be a URL' }];
    expect(failureWords(refusal('invalid_request', fields)).detail).toBe('Subscriber must be a URL.');
  });

  it('does not look up a code in the prototype of the table', () => {
    expect(failureWords(refusal('constructor')).title).toBe('The API responded with 502');
  });

  it('distinguishes a different version, a stopped console and an error in the page', () => {
    const unknown = new UnknownAnswer({ method: 'GET', path: '/v2/queues' }, 'queues.0.name');
    expect(failureWords(unknown)).toMatchObject({ title: 'The deployment runs a different version' });
    expect(failureWords(unknown).detail).toContain('queues.0.name');
    expect(failureWords(new NoResponse('')).title).toBe('The console has stopped');
    expect(failureWords(new RangeError('so many')).detail).toBe('so many');
  });

  it('stops polling after a refused session token, but not while the API is unreachable', () => {
    expect(isTransient(refusal('unreachable'))).toBe(true);
    expect(isTransient(refusal('token_refused'))).toBe(false);
  });
});
