import { describe, expect, it } from 'vitest';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { faultsByField } from '../../../console/src/api/failure-words.ts';
import {
  creationOf,
  draftFaults,
  EMPTY_SUBSCRIPTION,
  headerField,
  patchOf,
  subscriptionDraft,
} from '../../../console/src/pages/subscription/subscription-draft.ts';
import { choiceOf, withChosen } from '../../../console/src/pages/designer/policy-choice.ts';

const stored = {
  subscriber: 'https://example.com/hook',
  name: 'Billing',
  options: {
    event_types: ['order.created'],
    filter: { total: [{ numeric: ['>', 100] }] },
    post_headers: { 'x-api-key': '***', 'x-team': 'billing' },
    max_per_second: 5,
    _retry_policy: { maximum_delay: 60 },
    raw_delivery: true,
    option_of_a_later_version: 1,
  },
};
const draft = subscriptionDraft(stored);

describe('the PATCH of an edited subscription', () => {
  it('is empty if nothing changed', () => {
    expect(patchOf(stored, draft)).toBeUndefined();
    expect(patchOf(stored, { ...draft, filter: JSON.stringify(stored.options.filter) })).toBeUndefined();
  });

  it('contains only what changed outside of the options', () => {
    expect(patchOf(stored, { ...draft, subscriber: ' https://example.com/other ' })).toEqual({
      subscriber: 'https://example.com/other',
    });
    expect(patchOf(stored, { ...draft, name: 'Ledger' })).toEqual({ name: 'Ledger' });
    expect(patchOf(stored, { ...draft, name: ' ' })).toEqual({ name: null });
  });

  it('keeps the options that the form does not show, and redacted headers', () => {
    expect(patchOf(stored, { ...draft, maxPerSecond: '2.5' })).toEqual({
      options: { ...stored.options, max_per_second: 2.5 },
    });
  });

  it('sends credentials back as they were shown, but not with another origin', () => {
    const auth = { type: 'basic', username: 'ada', password: '***' };
    const current = { ...stored, options: { ...stored.options, auth } };
    const faster = { ...draft, maxPerSecond: '2' };
    expect(patchOf(stored, faster, current)).toMatchObject({ options: { auth } });
    expect(
      patchOf(stored, { ...faster, subscriber: 'https://other.example/' }, current)?.['options'],
    ).not.toHaveProperty('auth');
  });

  it('keeps what another operator changed in the meantime', () => {
    const current = { ...stored, options: { ...stored.options, attempt_timeout: 9, event_types: ['a'] } };
    expect(patchOf(stored, { ...draft, maxPerSecond: '2' }, current)).toEqual({
      options: { ...current.options, max_per_second: 2 },
    });
  });

  it('removes an option whose field is emptied', () => {
    const { option_of_a_later_version, raw_delivery } = stored.options;
    const empty = {
      eventTypes: ' \n',
      filter: '',
      headers: [],
      maxPerSecond: '',
      policy: choiceOf(undefined),
    };
    expect(patchOf(stored, { ...draft, ...empty })).toEqual({
      options: { option_of_a_later_version, raw_delivery },
    });
  });

  it('sends the name of a preset, and its fields once one of them is changed', () => {
    const patient = withChosen(draft.policy, 'patient');
    expect(patchOf(stored, { ...draft, policy: patient })).toMatchObject({
      options: { _retry_policy: 'patient' },
    });
    const custom = withChosen(patient, 'custom');
    const changed = { ...custom, draft: { ...custom.draft, maximum_delay: '60' } };
    expect(patchOf(stored, { ...draft, policy: changed })).toMatchObject({
      options: { _retry_policy: { ...RETRY_POLICY_PRESETS.patient, maximum_delay: 60 } },
    });
  });

  it('recognises a stored preset', () => {
    expect(choiceOf(RETRY_POLICY_PRESETS.patient).chosen).toBe('patient');
    expect(choiceOf({ maximum_delay: 60 }).chosen).toBe('custom');
    expect(choiceOf({}).chosen).toBe('custom');
  });

  it('sends text that is not a number, so that the API names the error', () => {
    expect(patchOf(stored, { ...draft, attemptTimeout: 'soon' })).toMatchObject({
      options: { attempt_timeout: 'soon' },
    });
  });
});

describe('a new subscription', () => {
  it('contains only the fields that are filled in', () => {
    expect(creationOf({ ...EMPTY_SUBSCRIPTION, subscriber: 'https://example.com/' })).toEqual({
      subscriber: 'https://example.com/',
      options: {},
    });
    expect(creationOf(draft)).toMatchObject({
      name: 'Billing',
      options: { event_types: ['order.created'], max_per_second: 5, _retry_policy: { maximum_delay: 60 } },
    });
  });
});

describe('the errors of the form', () => {
  it('ask for the value of a redacted header that would go to another origin', () => {
    const moved = { ...draft, subscriber: 'https://example.net/hook' };
    expect([...draftFaults(moved, stored).keys()]).toEqual([headerField('x-api-key')]);
    expect(draftFaults({ ...draft, subscriber: 'https://example.com/moved' }, stored).size).toBe(0);
  });

  it('name a header that is given twice, in any case, and a value without a name', () => {
    const headers = [
      { name: 'x-a', value: '1' },
      { name: 'X-A', value: '2' },
      { name: ' ', value: '3' },
    ];
    const faults = draftFaults({ ...draft, headers });
    expect([...faults.keys()]).toEqual([headerField('X-A'), headerField('')]);
  });

  it('name a filter that is not JSON', () => {
    expect(draftFaults({ ...draft, filter: '{' }).get('filter')).toMatch(/^Invalid JSON/);
  });
});

describe('the errors of the API', () => {
  it('appear at the field that their path is below', () => {
    const faults = faultsByField(
      [
        { field: 'subscriber', message: 'must be an absolute URL' },
        { field: 'options.filter.total[0].numeric', message: 'must be an operator' },
        { field: 'options.filter', message: 'is too long' },
        { field: 'options.post_headers.x-api-key', message: 'is redacted' },
        { field: 'options.filtered', message: 'is unknown' },
      ],
      ['subscriber', 'filter', 'post_headers.x-api-key'],
    );
    expect(Object.fromEntries(faults)).toEqual({
      subscriber: 'must be an absolute URL',
      filter: 'total[0].numeric: must be an operator; is too long',
      'post_headers.x-api-key': 'is redacted',
    });
  });

  it('appear at the field for all others, with their path', () => {
    expect(faultsByField([{ field: '[0].path', message: 'is wrong' }], ['a'], 'others').get('others')).toBe(
      '[0].path: is wrong',
    );
  });
});
