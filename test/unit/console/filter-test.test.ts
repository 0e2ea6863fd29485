import { describe, expect, it } from 'vitest';
import { testFilter } from '../../../console/src/pages/subscription/filter-test.ts';

const FILTER = '{"total": [{"numeric": [">", 100]}]}';
const given = { eventTypes: [], filter: FILTER, type: '', data: '{"total": 101}' };

describe('the filter tester', () => {
  it('says that a message matches', () => {
    expect(testFilter(given)).toEqual({ kind: 'matches' });
    expect(testFilter({ ...given, filter: ' ' })).toEqual({ kind: 'matches' });
    expect(testFilter({ ...given, eventTypes: ['a', 'b'], type: 'b' })).toEqual({ kind: 'matches' });
  });

  it('says by what a message is filtered', () => {
    expect(testFilter({ ...given, data: '{"total": 100}' })).toEqual({
      kind: 'filtered',
      by: 'filter',
      path: 'total',
    });
    expect(testFilter({ ...given, eventTypes: ['a'], type: 'A' })).toEqual({
      kind: 'filtered',
      by: 'event_types',
    });
  });

  it.each([
    ['data', { data: '{' }],
    ['filter', { filter: '{' }],
    ['filter', { filter: '{"total": 100}' }],
  ])('says that the %s cannot be read: %j', (what, changed) => {
    expect(testFilter({ ...given, ...changed })).toMatchObject({ kind: 'invalid', what });
  });
});
