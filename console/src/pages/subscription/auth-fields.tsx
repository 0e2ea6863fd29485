import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { Faults } from '../../api/failure-words.ts';
import { InputField, SelectField } from '../../parts/fields.tsx';
import { Notice } from '../../parts/notice.tsx';
import {
  AUTH_FORMS,
  authPath,
  authFields,
  isRequired,
  isStored,
  withChoice,
  type AuthDraft,
  type AuthField,
} from './auth-draft.ts';

/** How requests authenticate at the subscriber. `stored`: as the subscription has it. */
export function AuthFields({
  auth,
  stored,
  faults,
  onAuth,
}: {
  auth: AuthDraft;
  stored: AuthDraft;
  faults: Faults;
  onAuth: (auth: AuthDraft) => void;
}) {
  return (
    <fieldset>
      <legend>Authentication</legend>
      <SelectField
        label="Credentials of each request"
        hint="Optional, in addition to the signature."
        fault={faults.get('auth')}
        value={auth.choice}
        onValue={(choice) => {
          onAuth(withChoice(auth, choice, stored));
        }}
      >
        <option value="none">none</option>
        {Object.entries(AUTH_FORMS).map(([choice, { text }]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
        {stored.choice === 'unknown' ? (
          <option value="unknown">{stored.values['type']}, as stored</option>
        ) : null}
      </SelectField>
      {authFields(auth).map((field) => (
        <AuthInput
          key={`${auth.choice} ${field.name}`}
          field={field}
          value={auth.values[field.name] ?? ''}
          isKept={isStored(auth, field)}
          fault={faults.get(authPath(field.name))}
          onValue={(text) => {
            // An emptied field means the stored value again, if there is one.
            const isEmptied = text === '' && auth.choice === stored.choice && isStored(stored, field);
            onAuth({ ...auth, values: { ...auth.values, [field.name]: isEmptied ? REDACTED : text } });
          }}
        />
      ))}
      {stored.choice !== 'none' && auth.choice === 'none' ? <RemovalQuestion /> : null}
    </fieldset>
  );
}

function AuthInput({
  field,
  value,
  isKept,
  ...input
}: {
  field: AuthField;
  value: string;
  /** Its value is stored, and not shown. */
  isKept: boolean;
  fault: string | undefined;
  onValue: (value: string) => void;
}) {
  const { label, hint, secret, pem } = field;
  return (
    <InputField
      {...input}
      label={label}
      value={isKept ? '' : value}
      hint={
        isKept
          ? ['Kept while the other fields stay. To change any of them, type it again.', hint].join(' ')
          : hint
      }
      required={isRequired(field) && !isKept}
      secret={secret}
      {...(pem === true && { code: true, rows: 6 })}
    />
  );
}

function RemovalQuestion() {
  return (
    <Notice tone="warning" title="Saving removes the stored credentials">
      <p>Requests are then sent without them. The credentials cannot be restored.</p>
      <label class="check">
        <input type="checkbox" required />
        Remove the credentials
      </label>
    </Notice>
  );
}
