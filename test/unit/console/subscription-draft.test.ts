import { describe, expect, it } from 'vitest';
import { pressureState } from '../../../api-client/words.ts';
import { faultsByField } from '../../../console/src/api/failure-words.ts';
import { toChoice, withChosen } from '../../../console/src/pages/designer/policy-controls.tsx';
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
  buildCreation,
  buildPatch,
  draftFaults,
  EMPTY_SUBSCRIPTION,
  headerField,
  subscriptionDraft,
} from '../../../console/src/pages/subscription/subscription-draft.ts';
import { pressureWords } from '../../../console/src/parts/subscription-text.tsx';
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

const { options } = stored;
const patient = withChosen(draft.policy, 'patient');
const custom = withChosen(patient, 'custom');
const soonerPolicy = { ...RETRY_POLICY_PRESETS.patient, maximum_delay: 60 };
const sooner = { ...custom, draft: { ...custom.draft, maximum_delay: '60' } };

describe('the PATCH of an edited subscription', () => {
  it.each<[string, Partial<typeof draft>, object | undefined]>([
    ['nothing', {}, undefined],
    ['nothing, if only blanks changed', { filter: JSON.stringify(options.filter) }, undefined],
    ['another URL', { subscriber: ' https://example.com/b ' }, { subscriber: 'https://example.com/b' }],
    ['another name', { name: 'Ledger' }, { name: 'Ledger' }],
    ['no name', { name: ' ' }, { name: null }],
    [
      'options without those that are emptied',
      { event_types: ' \n', filter: '', headers: [], max_per_second: '', policy: toChoice(undefined) },
      { options: { option_of_a_later_version: 1, raw_delivery: true } },
    ],
  ])('contains %s', (_, change, patch) => {
    expect(buildPatch(stored, { ...draft, ...change })).toEqual(patch);
  });

  it.each<[string, Partial<typeof draft>, object]>([
    ['a rate', { max_per_second: '2.5' }, { max_per_second: 2.5 }],
    ['what is not a number, for the API to refuse', { attempt_timeout: 'soon' }, { attempt_timeout: 'soon' }],
    ['the name of a preset', { policy: patient }, { _retry_policy: 'patient' }],
    ['the fields of a changed preset', { policy: sooner }, { _retry_policy: soonerPolicy }],
  ])('contains %s, beside options that the form does not show, and redacted headers', (_, change, option) => {
    expect(buildPatch(stored, { ...draft, ...change })).toEqual({ options: { ...options, ...option } });
  });

  const faster = { ...draft, max_per_second: '2' };

  it('sends credentials back as they were shown, but not with another origin', () => {
    const auth = { type: 'basic', username: 'ada', password: '***' };
    const current = { ...stored, options: { ...options, auth } };
    expect(buildPatch(stored, faster, current)).toMatchObject({ options: { auth } });
    const moved = { ...faster, subscriber: 'https://other.example/' };
    expect(buildPatch(stored, moved, current)?.['options']).not.toHaveProperty('auth');
  });

  it('keeps what another operator changed in the meantime', () => {
    const current = { ...stored, options: { ...options, attempt_timeout: 9, event_types: ['a'] } };
    const expected = { options: { ...current.options, max_per_second: 2 } };
    expect(buildPatch(stored, faster, current)).toEqual(expected);
  });

  it.each([
    ['patient', RETRY_POLICY_PRESETS.patient],
    ['custom', { maximum_delay: 60 }],
    ['custom', {}],
  ])('recognises a stored policy as %s', (chosen, policy) => {
    expect(toChoice(policy).chosen).toBe(chosen);
  });
});

it('a new subscription contains only the fields that are filled in', () => {
  const subscriber = 'https://example.com/';
  expect(buildCreation({ ...EMPTY_SUBSCRIPTION, subscriber })).toEqual({ subscriber, options: {} });
  expect(buildCreation(draft)).toMatchObject({
    name: 'Billing',
    options: { event_types: ['order.created'], max_per_second: 5, _retry_policy: { maximum_delay: 60 } },
  });
});

describe('the errors of the form', () => {
  const twice = [
    { name: 'x-a', value: '1' },
    { name: 'X-A', value: '2' },
    { name: ' ', value: '3' },
  ];

  it.each<[string, Partial<typeof draft>, string[]]>([
    [
      'a redacted header that would move to another origin',
      { subscriber: 'https://b.example/' },
      ['x-api-key'],
    ],
    ['no header that stays with its origin', { subscriber: 'https://example.com/moved' }, []],
    ['a header given twice, in any case, and a value without a name', { headers: twice }, ['X-A', '']],
  ])('name %s', (_, change, names) => {
    expect([...draftFaults({ ...draft, ...change }, stored).keys()]).toEqual(names.map(headerField));
  });

  it('name a filter that is not JSON', () => {
    expect(draftFaults({ ...draft, filter: '{' }).get('filter')).toMatch(/^Invalid JSON/);
  });

  it('of the API appear at the field that their path is below', () => {
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

  it('of the API appear at the field for all others, with their path', () => {
    const faults = faultsByField([{ field: '[0].path', message: 'is wrong' }], ['a'], 'others');
    expect(faults.get('others')).toBe('[0].path: is wrong');
  });
});

describe('the credentials in the form of a subscription', () => {
  const NONE = authDraft(undefined);
  const oauth2 = {
    type: 'oauth2_client_credentials',
    token_url: 'https://login.example/token',
    client_id: 'posthaste',
    client_secret: '***',
    scope: 'hooks',
  };
  const shown = authDraft(oauth2);

  const typed = (given: AuthDraft, values: Record<string, string>): AuthDraft => ({
    ...given,
    values: { ...given.values, ...values },
  });

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
      const required = form.fields.filter(({ optional }) => optional !== true);
      const values = Object.fromEntries(required.map(({ name }) => [name, `my ${name}`]));
      const auth = { type: form.type, ...values };
      expect(authIn(typed(withChoice(NONE, choice, NONE), values))).toEqual(auth);
      expect(authSchema.safeParse(auth).success).toBe(true);
    },
  );

  it('are sent with an empty password, and not at all without a choice', () => {
    const auth = typed(withChoice(NONE, 'basic', NONE), { username: 'ada' });
    const sent = { type: 'basic', username: 'ada', password: '' };
    expect(buildCreation({ ...EMPTY_SUBSCRIPTION, auth })).toMatchObject({ options: { auth: sent } });
    expect(buildCreation(EMPTY_SUBSCRIPTION)['options']).toEqual({});
  });

  it('never take a stored secret to another choice, but other fields', () => {
    const withKey = withChoice(shown, 'oauth2_key', shown);
    expect(withKey.values).toMatchObject({ token_url: oauth2.token_url, scope: 'hooks', private_key: '' });
    expect(Object.values(withChoice(withKey, 'mtls', shown).values)).not.toContain('***');
    expect(withChoice(withKey, 'oauth2_secret', shown)).toEqual(shown);
  });

  it('tell the key of an OAuth 2 client from its secret', () => {
    const { client_secret: _, ...client } = oauth2;
    expect(authDraft({ ...client, private_key: '***' }).choice).toBe('oauth2_key');
    expect(shown.choice).toBe('oauth2_secret');
    expect(authText(oauth2)).toBe('OAuth 2 client credentials, with a client secret');
  });

  const other = { token_url: 'https://other.example/token' };

  it.each<[string, Record<string, string>, boolean, string[]]>([
    ['not as they are', {}, false, []],
    ['not for another path of the token URL', { token_url: 'https://login.example/other' }, false, []],
    ['not if they were typed', { ...other, client_secret: 'new' }, false, []],
    ['for another origin of the subscriber', {}, true, ['auth.client_secret']],
    ['for another origin of the token URL', other, false, ['auth.client_secret']],
    ['for other authorities', { ca: '-----' }, false, ['auth.client_secret']],
  ])('must be typed again, %s', (_, values, moves, fields) => {
    expect(authFaults(typed(shown, values), shown, moves).map(([field]) => field)).toEqual(fields);
  });

  it('keep members that a later version has added', () => {
    const later = { ...oauth2, resource: 'a' };
    const auth = typed(authDraft(later), { client_secret: 'new' });
    expect(authIn(auth)).toEqual({ ...later, client_secret: 'new' });
  });

  it('of a type of a later version stay as they are', () => {
    const unknown = authDraft({ type: 'hawk', id: 'a' });
    expect(withChoice(withChoice(unknown, 'basic', unknown), 'unknown', unknown)).toEqual(unknown);
    expect(authIn(unknown)).toEqual({ type: 'hawk', id: 'a' });
    expect(authText({ type: 'hawk' })).toBe('hawk');
  });

  const subscriber = 'https://other.example/';
  const raw_delivery = true;
  const { scope: _, ...unscoped } = oauth2;
  const scopeless = typed(shown, { scope: '' });
  const retyped = typed(shown, { client_secret: 'new' });

  it.each<[string, { auth: AuthDraft; subscriber?: string }, object | undefined]>([
    ['nothing', { auth: shown }, undefined],
    ['the stored secret', { auth: scopeless }, { options: { raw_delivery, auth: unscoped } }],
    ['no credentials', { auth: withChoice(shown, 'none', shown) }, { options: { raw_delivery } }],
    [
      'what was typed, with another origin',
      { auth: retyped, subscriber },
      { subscriber, options: { raw_delivery, auth: { ...oauth2, client_secret: 'new' } } },
    ],
  ])('when they are changed send %s beside the other options', (_, change, patch) => {
    const before = { subscriber: 'https://example.com/hook', options: { raw_delivery, auth: oauth2 } };
    expect(buildPatch(before, { ...subscriptionDraft(before), ...change }, before)).toEqual(patch);
  });
});

const since = '2026-11-21T12:00:00.000Z';

it.each([
  ['circuit open', { since, reason: 'circuit_open' }, 'one request at a time'],
  ['slowed', { since, reason: 'circuit_open', perSecond: 4 }, 'at most 4 requests a second'],
  ['throttled', { since, reason: 'receiver_throttled', perSecond: 0.5 }, 'Retry-After. It gets at most 0.5'],
] as const)('the words for back-pressure call it %s, and say what it means', (state, pressure, meaning) => {
  const { detail } = pressureWords(pressure);
  expect(pressureState(pressure)).toBe(state);
  expect(detail).toContain(meaning);
  expect(detail).toContain('uses none of their attempts');
});

const filter = '{"total": [{"numeric": [">", 100]}]}';

it.each<[string, Partial<Parameters<typeof testFilter>[0]>, boolean | undefined, RegExp]>([
  ['matches', {}, true, /^Matches/],
  ['matches without a filter', { filter: ' ' }, true, /^Matches/],
  ['matches one of the types', { eventTypes: ['a', 'b'], type: 'b' }, true, /^Matches/],
  ['is filtered', { data: '{"total": 100}' }, false, /^Filtered: total does not match/],
  ['has another type', { eventTypes: ['a'], type: 'A' }, false, /^Filtered: the type/],
  ['cannot be read', { data: '{' }, undefined, /^The data cannot be read: Invalid JSON/],
  ['meets a filter that is no JSON', { filter: '{' }, undefined, /^The filter cannot be read: Invalid JSON/],
  ['meets a wrong filter', { filter: '{"total": 100}' }, undefined, /^The filter cannot be read: total /],
])('the filter tester says that a message %s', (_, changed, matches, text) => {
  const given = { eventTypes: [], filter, type: '', data: '{"total": 101}', ...changed };
  const verdict = testFilter(given);
  expect(verdict.matches).toBe(matches);
  expect(verdict.text).toMatch(text);
});
