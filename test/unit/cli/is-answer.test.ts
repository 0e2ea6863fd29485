import { describe, expect, it } from 'vitest';
import { isAnswer } from '../../../cli/api/api-refusal.ts';

const UNWELL = JSON.stringify({ status: 'failing', checks: { queues: 'failing' } });

describe('what is an answer to the request', () => {
  it('is success, whatever its body', () => {
    expect(isAnswer({}, { status: 204, text: '' })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 200, text: '{}' })).toBe(true);
  });

  it('is what comes with the status that is accepted, and with no other', () => {
    expect(isAnswer({ accept: 503 }, { status: 503, text: UNWELL })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 502, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 503, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 304, text: '' })).toBe(false);
  });

  it.each([
    ['the console', JSON.stringify({ error: { code: 'no_deployment', message: 'no stack' } })],
    ['API Gateway', JSON.stringify({ message: 'Service Unavailable' })],
    ['something between', '<html>503</html>'],
  ])('is not a refusal of %s with the status that is accepted', (_, text) => {
    expect(isAnswer({ accept: 503 }, { status: 503, text })).toBe(false);
  });
});
