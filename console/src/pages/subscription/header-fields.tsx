import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { Faults } from '../../api/failure-words.ts';
import { InputField } from '../../parts/fields.tsx';
import { headerField, type Header } from './subscription-draft.ts';

/** The headers of each request to a subscriber, a row for each. */
export function HeaderFields({
  headers,
  faults,
  onHeaders,
}: {
  headers: readonly Header[];
  faults: Faults;
  onHeaders: (headers: readonly Header[]) => void;
}) {
  const change = (index: number, changed: Partial<Header>): void => {
    onHeaders(headers.map((header, at) => (at === index ? { ...header, ...changed } : header)));
  };
  return (
    <fieldset class="header-fields">
      <legend>Headers</legend>
      {headers.some(({ value }) => value === REDACTED) ? (
        <p class="field-hint">
          A value shown as {REDACTED} is a stored credential. It stays unless you replace it.
        </p>
      ) : null}
      {headers.map(({ name, value }, index) => (
        <div key={index} class="header-row">
          <InputField
            label={`Name of header ${index + 1}`}
            value={name}
            fault={faults.get(headerField(name))}
            code
            onValue={(text) => {
              change(index, { name: text });
            }}
          />
          <InputField
            label={`Value of header ${index + 1}`}
            value={value}
            code
            onValue={(text) => {
              change(index, { value: text });
            }}
          />
          <button
            type="button"
            class="button button-small"
            onClick={() => {
              onHeaders(headers.toSpliced(index, 1));
            }}
          >
            Remove<span class="unseen"> header {index + 1}</span>
          </button>
        </div>
      ))}
      {faults.get('post_headers') === undefined ? null : (
        <p class="field-fault">{faults.get('post_headers')}</p>
      )}
      <div class="actions">
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            onHeaders([...headers, { name: '', value: '' }]);
          }}
        >
          Add a header
        </button>
      </div>
    </fieldset>
  );
}
