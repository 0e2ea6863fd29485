import { describe, expect, it } from 'vitest';
import { isAnswer } from '../../../api-client/refusal.ts';

const UNWELL = JSON.stringify({ status: 'failing', checks: { queues: 'failing' } });

describe('the check whether a response is an answer', () => {
  it('accepts every 2xx response, independent of the body', () => {
    expect(isAnswer({}, { status: 204, text: '' })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 200, text: '{}' })).toBe(true);
  });

  it('accepts the additional status of the request, and no other', () => {
    expect(isAnswer({ accept: 503 }, { status: 503, text: UNWELL })).toBe(true);
    expect(isAnswer({ accept: 503 }, { status: 502, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 503, text: UNWELL })).toBe(false);
    expect(isAnswer({}, { status: 304, text: '' })).toBe(false);
  });

  it.each([
    ['the console', JSON.stringify({ error: { code: 'no_deployment', message: 'no stack' } })],
    ['API Gateway', JSON.stringify({ message: 'Service Unavailable' })],
    ['an intermediary', '<html>503</html>'],
  ])('does not accept a refusal of %s with the additional status', (_, text) => {
    expect(isAnswer({ accept: 503 }, { status: 503, text })).toBe(false);
  });
});
