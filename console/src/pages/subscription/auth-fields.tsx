import { type Auth, type AuthType, SECRET_FIELDS } from '../../../../shared/domain/subscription/auth.ts';
import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import type { Faults } from '../../api/failure-words.ts';
import { InputField, SelectField } from '../../parts/fields.tsx';
import { Notice } from '../../parts/loaded.tsx';

type AuthFieldsProps = {
  auth: AuthDraft;
  stored: AuthDraft;
  faults: Faults;
  onAuth: (auth: AuthDraft) => void;
};

/** How requests authenticate at the subscriber. `stored`: as the subscription has it. */
export function AuthFields({ auth, stored, faults, onAuth }: AuthFieldsProps) {
  return (
    <fieldset>
      <legend>Authentication</legend>
      <SelectField
        label="Credentials of each request"
        hint="Optional, in addition to the signature."
        fault={faults.get('auth')}
        value={auth.choice}
        onValue={(choice) => onAuth(withChoice(auth, choice, stored))}
        options={[
          'none',
          ...Object.entries(AUTH_FORMS).map(([choice, { text }]) => [choice, text] as const),
          ...(stored.choice === 'unknown'
            ? [['unknown', `${stored.values['type'] ?? ''}, as stored`] as const]
            : []),
        ]}
      />
      {authFields(auth).map((field) => {
        const { name, label, hint, secret, pem } = field;
        const isKept = isStored(auth, field);
        return (
          <InputField
            key={`${auth.choice} ${name}`}
            label={label}
            value={isKept ? '' : (auth.values[name] ?? '')}
            hint={isKept ? [KEPT, hint].join(' ') : hint}
            fault={faults.get(authPath(name))}
            required={isRequired(field) && !isKept}
            secret={secret}
            {...(pem === true && { code: true, rows: 6 })}
            onValue={(text) => {
              // An emptied field means the stored value again, if there is one.
              const isEmptied = text === '' && auth.choice === stored.choice && isStored(stored, field);
              onAuth({ ...auth, values: { ...auth.values, [name]: isEmptied ? REDACTED : text } });
            }}
          />
        );
      })}
      {stored.choice !== 'none' && auth.choice === 'none' ? (
        <Notice tone="warning" title="Saving removes the stored credentials">
          <p>Requests are then sent without them. The credentials cannot be restored.</p>
          <label class="check">
            <input type="checkbox" required />
            Remove the credentials
          </label>
        </Notice>
      ) : null}
    </fieldset>
  );
}

/** Of a value that is stored, and not shown. */
const KEPT = 'Kept while the other fields stay. To change any of them, type it again.';

/** The members of a union of objects. */
type NameIn<Of> = Of extends unknown ? Exclude<keyof Of, 'type'> : never;

/** A field of `options.auth`. */
type AuthField = {
  name: NameIn<Auth>;
  label: string;
  hint?: string;
  /** Several lines. */
  pem?: boolean;
  /** Left out when it is empty. */
  optional?: boolean;
  mayBeEmpty?: boolean;
  /** The API shows it as `***`. */
  secret: boolean;
};

const FIELDS: Readonly<Record<NameIn<Auth>, Omit<AuthField, 'name' | 'secret'>>> = {
  name: { label: 'Name of the header', hint: 'Such as authorization or x-api-key.' },
  value: { label: 'Value of the header' },
  username: { label: 'User name' },
  password: { label: 'Password', mayBeEmpty: true },
  certificate: { label: 'Certificate', hint: 'In PEM, with its intermediates after it, if any.', pem: true },
  private_key: { label: 'Private key', hint: 'In PEM, not encrypted.', pem: true },
  token_url: { label: 'Token URL', hint: 'Of the authorisation server: https.' },
  client_id: { label: 'Client ID' },
  client_secret: { label: 'Client secret' },
  key_id: { label: 'Key ID', hint: 'Optional. The kid of the key at the server.', optional: true },
  issuer: {
    label: 'Issuer',
    hint: 'Optional. The audience of what the key signs, if it is not the token URL.',
    optional: true,
  },
  scope: { label: 'Scope', hint: 'Optional. Separated by blanks.', optional: true },
  audience: { label: 'Audience', hint: 'Optional.', optional: true },
  ca: {
    label: 'Certificate authorities',
    hint: 'Optional, in PEM. Trusted in place of the public ones, for all connections of the subscription.',
    pem: true,
    optional: true,
  },
};

/** A choice in the form for each type; two for OAuth 2, whose client has a secret or a key. */
type AuthChoice = Exclude<AuthType, 'oauth2_client_credentials'> | 'oauth2_secret' | 'oauth2_key';

type AuthForm = { type: AuthType; text: string; fields: readonly AuthField[] };

const OAUTH2 = 'oauth2_client_credentials';

export const AUTH_FORMS: Readonly<Record<AuthChoice, AuthForm>> = {
  header: authForm('header', 'a header', ['name', 'value', 'ca']),
  basic: authForm('basic', 'user name and password (HTTP Basic)', ['username', 'password', 'ca']),
  mtls: authForm('mtls', 'client certificate (mTLS)', ['certificate', 'private_key', 'ca']),
  oauth2_secret: authForm(OAUTH2, 'OAuth 2 client credentials, with a client secret', [
    'token_url',
    'client_id',
    'client_secret',
    'scope',
    'audience',
    'ca',
  ]),
  oauth2_key: authForm(
    OAUTH2,
    'OAuth 2 client credentials, with a private key',
    ['token_url', 'client_id', 'private_key', 'key_id', 'certificate', 'issuer', 'scope', 'audience', 'ca'],
    {
      label: 'Certificate of the key',
      hint: 'Optional, in PEM. For servers that know the key by its thumbprint.',
      optional: true,
    },
  ),
};

/** `certificate`: what its field says where the certificate is not that of the connection. */
function authForm(
  type: AuthType,
  text: string,
  names: readonly AuthField['name'][],
  certificate: Partial<AuthField> = {},
): AuthForm {
  const fields = names.map((name) => ({
    name,
    ...FIELDS[name],
    ...(name === 'certificate' && certificate),
    secret: SECRET_FIELDS[type].includes(name),
  }));
  return { type, text, fields };
}

/**
 * `options.auth` in the form. `unknown`: of a type that this version does not know. `values`: the members of the option;
 * `***` is a stored secret, which the form does not show and the API keeps.
 */
export type AuthDraft = {
  choice: AuthChoice | 'none' | 'unknown';
  values: Readonly<Record<string, string>>;
};

type ShownAuth = SubscriptionView['options']['auth'];

export function authDraft(auth: ShownAuth): AuthDraft {
  const texts = Object.entries(auth ?? {}).filter(
    (member): member is [string, string] => typeof member[1] === 'string',
  );
  return { choice: toChoice(auth), values: Object.fromEntries(texts) };
}

function toChoice(auth: ShownAuth): AuthDraft['choice'] {
  if (auth === undefined) return 'none';
  if (auth.type === 'oauth2_client_credentials')
    return auth['private_key'] === undefined ? 'oauth2_secret' : 'oauth2_key';
  return isChoice(auth.type) ? auth.type : 'unknown';
}

function isChoice(text: string): text is AuthChoice {
  return Object.hasOwn(AUTH_FORMS, text);
}

export function authFields({ choice }: AuthDraft): readonly AuthField[] {
  return choice === 'none' || choice === 'unknown' ? [] : AUTH_FORMS[choice].fields;
}

/** The draft with another choice. Fields of both choices keep their text, unless it is secret. */
export function withChoice(draft: AuthDraft, text: string, stored: AuthDraft): AuthDraft {
  if (text === stored.choice) return stored;
  if (!isChoice(text)) return { choice: 'none', values: {} };
  const { type, fields } = AUTH_FORMS[text];
  const values = fields.map(({ name, secret }) => [name, secret ? '' : (draft.values[name] ?? '')] as const);
  return { choice: text, values: { type, ...Object.fromEntries(values) } };
}

function isRequired({ optional, mayBeEmpty }: AuthField): boolean {
  return optional !== true && mayBeEmpty !== true;
}

/** Whether the form has the stored value of a secret, which another choice replaces. */
function isStored({ values }: AuthDraft, { name, secret }: AuthField): boolean {
  return secret && values[name] === REDACTED;
}

/** Stored secrets that must be typed again, because they could go to another server. `moves`: to another subscriber. */
export function authFaults(draft: AuthDraft, stored: AuthDraft, moves: boolean): [string, string][] {
  const isLost = moves || identifyServers(draft) !== identifyServers(stored);
  return authFields(draft)
    .filter((field) => isLost && isStored(draft, field))
    .map(({ name }) => [authPath(name), 'The stored value is not sent to another server: type it again.']);
}

/** Other authorities could vouch for another server. */
function identifyServers({ values: { token_url = '', ca = '' } }: AuthDraft): string {
  return `${URL.parse(token_url)?.origin ?? ''} ${ca}`;
}

/** The name of a field in the errors. */
export function authPath(name: string): string {
  return `auth.${name}`;
}

/** The option; undefined: not set. */
export function authIn(draft: AuthDraft): Readonly<Record<string, string>> | undefined {
  if (draft.choice === 'none') return undefined;
  const optional = new Set<string>(authFields(draft).flatMap(({ name, optional: is }) => (is ? [name] : [])));
  return Object.fromEntries(
    Object.entries(draft.values).filter(([name, value]) => value !== '' || !optional.has(name)),
  );
}

/** How requests authenticate, in words. */
export function authText(auth: NonNullable<ShownAuth>): string {
  const { choice } = authDraft(auth);
  return choice === 'none' || choice === 'unknown' ? auth.type : AUTH_FORMS[choice].text;
}
