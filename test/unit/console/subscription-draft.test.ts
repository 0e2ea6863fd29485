import { describe, expect, it } from 'vitest';
import { pressureState } from '../../../api-client/words.ts';
import { faultsByField } from '../../../console/src/api/failure-words.ts';
import { choiceOf, withChosen } from '../../../console/src/pages/designer/policy-controls.tsx';
import {
  AUTH_FORMS,
  authDraft,
  type AuthDraft,
  authFaults,
  authIn,
  authText,
  withChoice,
} from '../../../console/src/pages/subscription/auth-fields.tsx';
import { testFilter } from '../../../console/src/pages/subscription/filter-tester.tsx';
import {
  creationOf,
  draftFaults,
  EMPTY_SUBSCRIPTION,
  headerField,
  patchOf,
  subscriptionDraft,
} from '../../../console/src/pages/subscription/subscription-draft.ts';
import { pressureWords } from '../../../console/src/pages/subscription/subscription-facts.tsx';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { authSchema } from '../../../shared/domain/subscription/auth.ts';

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
    expect(patchOf(stored, { ...draft, max_per_second: '2.5' })).toEqual({
      options: { ...stored.options, max_per_second: 2.5 },
    });
  });

  it('sends credentials back as they were shown, but not with another origin', () => {
    const auth = { type: 'basic', username: 'ada', password: '***' };
    const current = { ...stored, options: { ...stored.options, auth } };
    const faster = { ...draft, max_per_second: '2' };
    expect(patchOf(stored, faster, current)).toMatchObject({ options: { auth } });
    expect(
      patchOf(stored, { ...faster, subscriber: 'https://other.example/' }, current)?.['options'],
    ).not.toHaveProperty('auth');
  });

  it('keeps what another operator changed in the meantime', () => {
    const current = { ...stored, options: { ...stored.options, attempt_timeout: 9, event_types: ['a'] } };
    expect(patchOf(stored, { ...draft, max_per_second: '2' }, current)).toEqual({
      options: { ...current.options, max_per_second: 2 },
    });
  });

  it('removes an option whose field is emptied', () => {
    const { option_of_a_later_version, raw_delivery } = stored.options;
    const empty = {
      event_types: ' \n',
      filter: '',
      headers: [],
      max_per_second: '',
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
    expect(patchOf(stored, { ...draft, attempt_timeout: 'soon' })).toMatchObject({
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

describe('the draft of credentials', () => {
  const NONE = authDraft(undefined);

  const oauth2 = {
    type: 'oauth2_client_credentials',
    token_url: 'https://login.example/token',
    client_id: 'posthaste',
    client_secret: '***',
    scope: 'hooks',
  };

  const stored = authDraft(oauth2);

  const typed = (draft: AuthDraft, values: Record<string, string>): AuthDraft => ({
    ...draft,
    values: { ...draft.values, ...values },
  });

  describe('the credentials in the form of a subscription', () => {
    it('have a field for each member of each type', () => {
      const inForms = Map.groupBy(Object.values(AUTH_FORMS), ({ type }) => type);
      for (const { shape } of authSchema.options) {
        const { type, ...members } = shape;
        const fields = inForms.get(type.value)?.flatMap((form) => form.fields.map(({ name }) => name));
        expect(new Set(fields), type.value).toEqual(new Set(Object.keys(members)));
      }
    });

    it.each(Object.entries(AUTH_FORMS))(
      'are sent as typed, without empty optional fields: %s',
      (choice, form) => {
        const empty = withChoice(NONE, choice, NONE);
        const required = form.fields
          .filter(({ optional }) => optional !== true)
          .map(({ name }): [string, string] => [name, `my ${name}`]);
        const auth = { type: form.type, ...Object.fromEntries(required) };
        expect(authIn(typed(empty, Object.fromEntries(required)))).toEqual(auth);
        expect(authSchema.safeParse(auth).success).toBe(true);
      },
    );

    it('are sent with an empty password, and not at all without a choice', () => {
      const basic = typed(withChoice(NONE, 'basic', NONE), { username: 'ada' });
      expect(authIn(basic)).toEqual({ type: 'basic', username: 'ada', password: '' });
      expect(creationOf({ ...EMPTY_SUBSCRIPTION, auth: basic })).toMatchObject({
        options: { auth: { username: 'ada' } },
      });
      expect(creationOf(EMPTY_SUBSCRIPTION)['options']).toEqual({});
    });

    it('never take a stored secret to another choice, but other fields', () => {
      const withKey = withChoice(stored, 'oauth2_key', stored);
      expect(withKey.values).toMatchObject({ token_url: oauth2.token_url, scope: 'hooks', private_key: '' });
      expect(Object.values(withChoice(withKey, 'mtls', stored).values)).not.toContain('***');
      expect(withChoice(withKey, 'oauth2_secret', stored)).toEqual(stored);
    });

    it('tell the key of an OAuth 2 client from its secret', () => {
      const { client_secret: _, ...client } = oauth2;
      expect(authDraft({ ...client, private_key: '***' }).choice).toBe('oauth2_key');
      expect(stored.choice).toBe('oauth2_secret');
      expect(authText(oauth2)).toBe('OAuth 2 client credentials, with a client secret');
    });

    it('must be typed again for another origin of the subscriber or the token URL, and for other authorities', () => {
      const faults = (draft: AuthDraft, moves = false) =>
        authFaults(draft, stored, moves).map(([field]) => field);
      expect(faults(stored)).toEqual([]);
      expect(faults(typed(stored, { token_url: 'https://login.example/other' }))).toEqual([]);
      expect(faults(stored, true)).toEqual(['auth.client_secret']);
      const other = { token_url: 'https://other.example/token' };
      expect(faults(typed(stored, other))).toEqual(['auth.client_secret']);
      expect(faults(typed(stored, { ca: '-----' }))).toEqual(['auth.client_secret']);
      expect(faults(typed(stored, { ...other, client_secret: 'new' }))).toEqual([]);
    });
  });

  describe('the PATCH of changed credentials', () => {
    const before = { subscriber: 'https://example.com/hook', options: { raw_delivery: true, auth: oauth2 } };
    const patchWith = (auth: AuthDraft, subscriber = before.subscriber, current = before) =>
      patchOf(before, { ...subscriptionDraft(before), subscriber, auth }, current);

    it('keeps the stored secret, and the other options', () => {
      expect(patchWith(stored)).toBeUndefined();
      expect(patchWith(typed(stored, { scope: '' }))).toEqual({
        options: { raw_delivery: true, auth: { ...authIn(stored), scope: undefined } },
      });
    });

    it('keeps members that a later version has added', () => {
      const later = { ...oauth2, resource: 'a' };
      expect(authIn(typed(authDraft(later), { client_secret: 'new' }))).toEqual({
        ...later,
        client_secret: 'new',
      });
    });

    it('removes them, and leaves a type of a later version alone', () => {
      expect(patchWith(withChoice(stored, 'none', stored))).toEqual({ options: { raw_delivery: true } });
      const unknown = authDraft({ type: 'hawk', id: 'a' });
      expect(withChoice(withChoice(unknown, 'basic', unknown), 'unknown', unknown)).toEqual(unknown);
      expect(authIn(unknown)).toEqual({ type: 'hawk', id: 'a' });
      expect(authText({ type: 'hawk' })).toBe('hawk');
    });

    it('sends what was typed to another origin', () => {
      const auth = typed(stored, { client_secret: 'new' });
      expect(patchWith(auth, 'https://other.example/')).toMatchObject({
        subscriber: 'https://other.example/',
        options: { auth: { client_secret: 'new' } },
      });
    });
  });
});

const since = '2026-11-21T12:00:00.000Z';

describe('the words for back-pressure', () => {
  it.each([
    ['circuit open', { reason: 'circuit_open' }, 'one request at a time'],
    ['slowed', { reason: 'circuit_open', perSecond: 4 }, 'at most 4 requests a second'],
    [
      'throttled',
      { reason: 'receiver_throttled', perSecond: 0.5 },
      '429, or 503 with Retry-After. It gets at most 0.5',
    ],
  ] as const)('call a subscription %s, and say what it means', (state, pressure, meaning) => {
    const words = pressureWords({ ...pressure, since });
    expect(pressureState({ ...pressure, since })).toBe(state);
    expect(words.detail).toContain(meaning);
    expect(words.detail).toContain('uses none of their attempts');
  });
});

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
