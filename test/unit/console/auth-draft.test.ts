import { describe, expect, it } from 'vitest';
import { authSchema } from '../../../shared/domain/subscription/auth.ts';
import {
  AUTH_FORMS,
  authDraft,
  authFaults,
  authIn,
  authText,
  withChoice,
  type AuthDraft,
} from '../../../console/src/pages/subscription/auth-draft.ts';
import {
  creationOf,
  EMPTY_SUBSCRIPTION,
  patchOf,
  subscriptionDraft,
} from '../../../console/src/pages/subscription/subscription-draft.ts';

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
