import { useState } from 'preact/hooks';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { hasNewOrigin, parseDestination } from '../../../../shared/domain/subscription/destination.ts';
import { areMarked, faultsByField, rejectedFields } from '../../api/failure-words.ts';
import type { Action } from '../../live/use-action.ts';
import { InputField, SwitchFields } from '../../parts/fields.tsx';
import { Failure, Notice } from '../../parts/notice.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { PolicyField } from '../designer/policy-controls.tsx';
import { FilterTester } from './filter-tester.tsx';
import { authFields, authPath, AuthFields } from './auth-fields.tsx';
import { HeaderFields } from './header-fields.tsx';
import {
  draftFaults,
  EMPTY_SUBSCRIPTION,
  eventTypesIn,
  headerField,
  subscriptionDraft,
  type SubscriptionDraft,
  TEXT_FIELDS,
} from './subscription-draft.ts';

/** What the form asks its owner to store. `keepSecret`: although the subscriber moves to another origin. */
export type SubscriptionEdit = { draft: SubscriptionDraft; keepSecret: boolean };

/** The fields of a new subscription, or of an existing one (`before`). */
export function SubscriptionForm({
  queue,
  before,
  verb,
  action,
  onSave,
  onChanged,
  onClose,
}: {
  queue: string;
  before?: SubscriptionView;
  verb: string;
  action: Action<unknown>;
  onSave: (edit: SubscriptionEdit) => void;
  /** The form differs from what was sent last. */
  onChanged: () => void;
  onClose: () => void;
}) {
  const [stored] = useState(() => (before === undefined ? EMPTY_SUBSCRIPTION : subscriptionDraft(before)));
  const [draft, setDraft] = useState(stored);
  const [keepSecret, setKeepSecret] = useState(false);
  const own = draftFaults(draft, before);
  const rejected = rejectedFields(action);
  const faults = new Map([...faultsByField(rejected, fieldsOf(draft)), ...own]);
  const isMarked = areMarked(rejected, [...fieldsOf(draft), '_retry_policy']);
  const change = (changed: Partial<SubscriptionDraft>): void => {
    setDraft({ ...draft, ...changed });
    onChanged();
  };
  const field = (name: (typeof TEXT_FIELDS)[number]) => ({
    value: draft[name],
    fault: faults.get(name),
    onValue: (value: string) => {
      change({ [name]: value });
    },
  });
  return (
    <Form
      action={action}
      ready={own.size === 0}
      onSubmit={() => {
        onSave({ draft, keepSecret });
      }}
    >
      <InputField
        {...field('subscriber')}
        label="URL"
        required
        inputMode="url"
        placeholder="https://example.com/webhooks"
      />
      {before !== undefined && isMove(before, draft) ? (
        <MoveWarning keepSecret={keepSecret} onKeepSecret={setKeepSecret} />
      ) : null}
      <InputField {...field('name')} label="Name" hint="Optional. Shown in lists beside the URL." />
      <InputField
        {...field('event_types')}
        label="Event types"
        hint="Optional, one a line. Only messages of these types are sent."
        rows={3}
        code
      />
      <InputField
        {...field('filter')}
        label="Filter"
        hint='Optional. Only messages whose data matches are sent, for example {"total": [{"numeric": [">", 100]}]}.'
        rows={5}
        code
      />
      <FilterTester queue={queue} eventTypes={eventTypesIn(draft.event_types)} filter={draft.filter} />
      <HeaderFields
        headers={draft.headers}
        faults={faults}
        onHeaders={(headers) => {
          change({ headers });
        }}
      />
      <AuthFields
        auth={draft.auth}
        stored={stored.auth}
        faults={faults}
        onAuth={(auth) => {
          change({ auth });
        }}
      />
      <div class="window-fields">
        <InputField
          {...field('max_per_second')}
          label="Maximum requests per second"
          inputMode="decimal"
          placeholder="no limit"
        />
        <InputField
          {...field('attempt_timeout')}
          label="Timeout of an attempt, seconds"
          inputMode="decimal"
          placeholder="the deployment’s timeout"
        />
      </div>
      <SwitchFields
        unset="as the queue or the deployment says"
        adapt={field('adapt_to_throttling')}
        hold={field('hold_while_down')}
      />
      <PolicyField
        none="none: the queue’s policy or the defaults"
        choice={draft.policy}
        rejected={rejected}
        onChoice={(policy) => {
          change({ policy });
        }}
      />
      {action.state === 'failed' && !isMarked ? <Failure of={action.failure} /> : null}
      {own.size > 0 || isMarked ? <p class="field-fault">Correct the marked fields first.</p> : null}
      <FormActions action={action} verb={verb} onClose={onClose} />
    </Form>
  );
}

function fieldsOf({ headers, auth }: SubscriptionDraft): string[] {
  return [
    ...TEXT_FIELDS,
    ...headers.map(({ name }) => headerField(name)),
    'post_headers',
    ...authFields(auth).map(({ name }) => authPath(name)),
    'auth',
  ];
}

function isMove(before: SubscriptionView, { subscriber }: SubscriptionDraft): boolean {
  return (
    URL.canParse(subscriber) &&
    hasNewOrigin(parseDestination(before.subscriber), parseDestination(subscriber))
  );
}

function MoveWarning({
  keepSecret,
  onKeepSecret,
}: {
  keepSecret: boolean;
  onKeepSecret: (keep: boolean) => void;
}) {
  return (
    <Notice tone="warning" title="The subscriber moves to another origin">
      <p>
        {keepSecret
          ? 'The new address gets requests that are signed with the current secret.'
          : 'The signing secret changes: the new one is shown once after saving, and the subscriber has to know it.'}{' '}
        Stored credentials are not sent to the new address.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={keepSecret}
          onChange={({ currentTarget }) => {
            onKeepSecret(currentTarget.checked);
          }}
        />
        Keep the current secret
      </label>
    </Notice>
  );
}
