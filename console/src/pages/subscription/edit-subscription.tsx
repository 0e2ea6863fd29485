import { useState } from 'preact/hooks';
import {
  getSubscription,
  listEventTypesOfQueue,
  subscribe,
  updateSubscription,
} from '../../../../api-client/operations.ts';
import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { areMarked, type Faults, faultsByField, rejectedFields } from '../../api/failure-words.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useLiveItems } from '../../live/use-live.ts';
import { AddressFields, isMove } from '../../parts/address-fields.tsx';
import {
  type Control,
  eventTypesIn,
  InputField,
  NumberField,
  SelectField,
  SwitchFields,
  useDraft,
} from '../../parts/fields.tsx';
import { Form, SmallButton, useClose } from '../../parts/form.tsx';
import { Notice } from '../../parts/loaded.tsx';
import { NewSecret } from '../../parts/secret.tsx';
import { hrefTo } from '../../route.ts';
import { PolicyField } from '../designer/policy-controls.tsx';
import { authFields, AuthFields, authPath } from './auth-fields.tsx';
import { FilterTester } from './filter-tester.tsx';
import {
  buildCreation,
  buildPatch,
  draftFaults,
  EMPTY_SUBSCRIPTION,
  type Header,
  headerField,
  subscriptionDraft,
  type SubscriptionDraft,
  TEXT_FIELDS,
} from './subscription-draft.ts';

/** The form that subscribes a URL to a queue. The signing secret is shown once. */
export function CreateSubscription({ queue, onCreated }: { queue: string; onCreated: () => void }) {
  const { api } = useConsole();
  const saving = useAction(async ({ draft }: SubscriptionEdit) => {
    const body = JSON.stringify(buildCreation(draft));
    const created = await api.call(subscribe, { path: { queue }, body });
    onCreated();
    return created;
  });
  const { action } = saving;
  if (action.state !== 'done') return <SubscriptionForm queue={queue} saving={saving} />;
  const { subscription_id: subscription, secret = '', confirmation } = action.result;
  return (
    <NewSecret
      what="signing secret of the subscription"
      secret={secret}
      onDone={() => {
        location.hash = hrefTo({ page: 'subscription', queue, subscription });
      }}
    >
      <p>Give it to the subscriber, which verifies each request with it.</p>
      {confirmation === undefined ? null : (
        <p>
          {confirmation === 'asked'
            ? 'The subscriber gets messages once it has confirmed the request that it was sent.'
            : 'The confirmation request could not be sent. To send it again, run “posthaste subscription update” with the same --url.'}
        </p>
      )}
    </NewSecret>
  );
}

/** The form that changes a subscription. */
export function EditSubscription({
  subscription,
  onDone,
}: {
  subscription: SubscriptionView;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const close = useClose();
  // The page reads the subscription again and again: the changes are those to what the form showed at first.
  const [before] = useState(subscription);
  const { source: queue, id } = before;
  const saving = useAction(async ({ draft, keepSecret }: SubscriptionEdit) => {
    const path = { queue, subscription: id };
    // Other options may have changed meanwhile.
    const patch = buildPatch(before, draft, await api.call(getSubscription, { path }));
    const body = JSON.stringify({ ...patch, ...(keepSecret && { secret: 'keep' }) });
    // A new one, if the subscriber moved to another origin.
    const { secret } = patch === undefined ? {} : await api.call(updateSubscription, { path, body });
    onDone();
    if (secret === undefined) close();
    return secret;
  });
  const { action } = saving;
  return action.state === 'done' ? (
    <NewSecret what="new signing secret" secret={action.result ?? ''}>
      <p>The subscriber has moved to another origin. Give it this secret, which signs all requests to it.</p>
    </NewSecret>
  ) : (
    <SubscriptionForm queue={queue} before={before} saving={saving} />
  );
}

/** What the form asks its owner to store. `keepSecret`: although the subscriber moves to another origin. */
type SubscriptionEdit = { draft: SubscriptionDraft; keepSecret: boolean };

type SubscriptionFormProps = {
  queue: string;
  before?: SubscriptionView;
  /** It is reset when the form differs from what was sent last. */
  saving: ReturnType<typeof useAction<[SubscriptionEdit], unknown>>;
};

/** The fields of a new subscription, or of an existing one (`before`). */
function SubscriptionForm({ queue, before, saving: { action, run, reset } }: SubscriptionFormProps) {
  const [stored] = useState(() => (before === undefined ? EMPTY_SUBSCRIPTION : subscriptionDraft(before)));
  const { draft, change, control } = useDraft(stored, reset);
  const [keepSecret, setKeepSecret] = useState(false);
  const given = { path: { queue }, query: { detailed: false } };
  const { value: offered } = useLiveItems(listEventTypesOfQueue, given, { once: true });
  const own = draftFaults(draft, before);
  const rejected = rejectedFields(action);
  const faults = new Map([...faultsByField(rejected, listFields(draft)), ...own]);
  const isMarked = areMarked(rejected, [...listFields(draft), '_retry_policy']);
  const field = (name: (typeof TEXT_FIELDS)[number]) => control(name, faults);
  return (
    <Form
      action={action}
      ready={own.size === 0}
      verb={before === undefined ? 'Create' : 'Save'}
      isMarked={isMarked}
      onSubmit={() => run({ draft, keepSecret })}
    >
      <AddressFields
        subscriber={field('subscriber')}
        name={field('name')}
        move={isMove(before, draft) ? { keepSecret, onKeepSecret: setKeepSecret } : undefined}
      />
      <EventTypesField {...field('event_types')} catalogue={offered} />
      <InputField
        {...field('filter')}
        label="Filter"
        hint='Optional. Only messages whose data matches are sent, for example {"total": [{"numeric": [">", 100]}]}. To send others by hand later, set _retain_messages of the queue to "all".'
        rows={5}
        code
      />
      <FilterTester queue={queue} eventTypes={eventTypesIn(draft.event_types)} filter={draft.filter} />
      <HeaderFields headers={draft.headers} faults={faults} onHeaders={change('headers')} />
      <AuthFields auth={draft.auth} stored={stored.auth} faults={faults} onAuth={change('auth')} />
      <div class="window-fields">
        <NumberField
          {...field('max_per_second')}
          label="Maximum requests per second"
          placeholder="no limit"
        />
        <NumberField
          {...field('attempt_timeout')}
          label="Timeout of an attempt, seconds"
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
        onChoice={change('policy')}
      />
      {own.size > 0 || isMarked ? <p class="field-fault">Correct the marked fields first.</p> : null}
    </Form>
  );
}

function listFields({ headers, auth }: SubscriptionDraft): string[] {
  return [
    ...TEXT_FIELDS,
    ...headers.map(({ name }) => headerField(name)),
    'post_headers',
    ...authFields(auth).map(({ name }) => authPath(name)),
    'auth',
  ];
}

/** The event types of a subscription, one a line. Offers those of the catalogue, if it is readable. */
function EventTypesField({
  catalogue = { items: [] },
  ...field
}: Control & { catalogue: { items: readonly { name: string }[] } | undefined }) {
  const names = catalogue.items.map(({ name }) => name);
  const chosen = eventTypesIn(field.value);
  const unknown = names.length === 0 ? [] : chosen.filter((name) => !names.includes(name));
  const left = names.filter((name) => !chosen.includes(name));
  return (
    <>
      <InputField
        {...field}
        label="Event types"
        hint="Optional, one a line. Only messages of these types are sent."
        rows={3}
        code
      />
      {unknown.length === 0 ? null : (
        <Notice tone="warning" title={`The catalogue does not have ${unknown.join(', ')}.`} />
      )}
      {left.length === 0 ? null : (
        <SelectField
          label="Add a type of the catalogue"
          value=""
          onValue={(name) => field.onValue([...chosen, name].join('\n'))}
          options={[['', 'choose one'], ...left]}
        />
      )}
    </>
  );
}

type HeaderFieldsProps = {
  headers: readonly Header[];
  faults: Faults;
  onHeaders: (headers: readonly Header[]) => void;
};

/** The headers of each request to a subscriber, a row for each. */
function HeaderFields({ headers, faults, onHeaders }: HeaderFieldsProps) {
  const change = (index: number, changed: Partial<Header>): void =>
    onHeaders(headers.map((header, at) => (at === index ? { ...header, ...changed } : header)));
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
            onValue={(text) => change(index, { name: text })}
          />
          <InputField
            label={`Value of header ${index + 1}`}
            value={value}
            code
            onValue={(text) => change(index, { value: text })}
          />
          <SmallButton onClick={() => onHeaders(headers.toSpliced(index, 1))}>
            Remove<span class="unseen"> header {index + 1}</span>
          </SmallButton>
        </div>
      ))}
      {faults.get('post_headers') === undefined ? null : (
        <p class="field-fault">{faults.get('post_headers')}</p>
      )}
      <div class="actions">
        <SmallButton onClick={() => onHeaders([...headers, { name: '', value: '' }])}>
          Add a header
        </SmallButton>
      </div>
    </fieldset>
  );
}
