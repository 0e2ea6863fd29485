import { describe, expect, it } from 'vitest';
import { failureWords, mayPass } from '../../../console/src/api/failure-words.ts';
import { ConsoleGone } from '../../../console/src/api/page-client.ts';
import { ApiRefusal } from '../../../cli/api/api-refusal.ts';
import { UnknownAnswer } from '../../../cli/api/parsed-answer.ts';
import { consoleFailureCodes } from '../../../shared/wire/views/console.ts';

const refusal = (code: string, fields?: object[]): ApiRefusal =>
  new ApiRefusal('GET /v2/queues', 502, JSON.stringify({ error: { code, message: 'it is so', fields } }));

describe('what the console says of a failure', () => {
  it.each(consoleFailureCodes)('has words of its own for %s, and what to do', (code) => {
    const { title, detail, advice } = failureWords(refusal(code));
    expect(title).not.toMatch(/answers 502/);
    expect(detail).toBe('It is so.');
    expect(advice).toBeTruthy();
  });

  it('names the fields that the API refuses', () => {
    const fields = [{ field: 'subscriber', message: 'must be a URL' }];
    expect(failureWords(refusal('invalid_request', fields)).detail).toBe('Subscriber must be a URL.');
  });

  it('does not take a code for a member that every object has', () => {
    expect(failureWords(refusal('constructor')).title).toBe('The API answers 502');
  });

  it('tells another version, a console that has ended, and its own faults apart', () => {
    const unknown = new UnknownAnswer({ method: 'GET', path: '/v2/queues' }, 'queues.0.name');
    expect(failureWords(unknown)).toMatchObject({ title: 'The deployment speaks another version' });
    expect(failureWords(unknown).detail).toContain('queues.0.name');
    expect(failureWords(new ConsoleGone('')).title).toBe('The console has ended');
    expect(failureWords(new RangeError('so many')).detail).toBe('so many');
  });

  it('knows where looking again cannot help', () => {
    expect(mayPass(refusal('unreachable'))).toBe(true);
    expect(mayPass(refusal('token_refused'))).toBe(false);
  });
});
