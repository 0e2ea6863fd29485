import { useState } from 'preact/hooks';
import { subscribe, updateSubscription } from '../../../api-client/operations.ts';
import { areMarked, faultsByField, rejectedFields } from '../../../console/src/api/failure-words.ts';
import { useAction } from '../../../console/src/live/hooks.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { draftSetter, InputField } from '../../../console/src/parts/fields.tsx';
import { Form, FormActions } from '../../../console/src/parts/form.tsx';
import { Failure } from '../../../console/src/parts/loaded.tsx';
import { isMove, MoveWarning } from '../../../console/src/parts/move-warning.tsx';
import { NewSecret } from '../../../console/src/parts/secret.tsx';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import {
  buildCreation,
  buildPatch,
  ENDPOINT_FIELDS,
  endpointDraft,
  type EndpointDraft,
  newEndpoint,
  typesFault,
} from '../endpoint-draft.ts';
import { usePortal } from '../portal-context.tsx';
import type { PortalSession } from '../session.ts';
import { EventPicker } from './event-picker.tsx';

/** The form of a new endpoint, then its signing secret, once. */
export function CreateEndpoint({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const { api } = usePage();
  const portal = usePortal();
  const saving = useAction(async ({ draft }: Edit) => {
    const path = { queue: portal.queue };
    const { secret } = await api.call(subscribe, { path, body: JSON.stringify(buildCreation(draft)) });
    onCreated();
    if (secret === undefined) onClose();
    return secret;
  });
  if (saving.action.state === 'done')
    return <Secret what="signing secret of the endpoint" secret={saving.action.result} onDone={onClose} />;
  return <EndpointForm stored={newEndpoint(portal)} verb="Create" saving={saving} onClose={onClose} />;
}

/** The form that changes an endpoint. An address at another origin gets a new secret, which is shown once. */
export function EditEndpoint({
  endpoint,
  onDone,
  onClose,
}: {
  endpoint: SubscriptionView;
  onDone: () => void;
  onClose: () => void;
}) {
  const { api } = usePage();
  const { queue } = usePortal();
  // The page reads the endpoint again and again: the changes are those to what the form showed at first.
  const [before] = useState(endpoint);
  const saving = useAction(async ({ draft, keepSecret }: Edit) => {
    const patch = buildPatch(before, draft);
    const body = JSON.stringify({ ...patch, ...(keepSecret && { secret: 'keep' }) });
    const path = { queue, subscription: before.id };
    const { secret } = patch === undefined ? {} : await api.call(updateSubscription, { path, body });
    onDone();
    if (secret === undefined) onClose();
    return secret;
  });
  if (saving.action.state === 'done')
    return <Secret what="new signing secret" secret={saving.action.result} onDone={onClose} />;
  return (
    <EndpointForm
      stored={endpointDraft(before)}
      before={before}
      verb="Save"
      saving={saving}
      onClose={onClose}
    />
  );
}

function Secret({ what, secret, onDone }: { what: string; secret: string | undefined; onDone: () => void }) {
  if (secret === undefined) return null;
  return (
    <NewSecret what={what} secret={secret} onDone={onDone}>
      <p>Store it where your endpoint verifies the signature of each request.</p>
    </NewSecret>
  );
}

/** `keepSecret`: although the endpoint moves to another origin. */
type Edit = { draft: EndpointDraft; keepSecret: boolean };

function EndpointForm({
  stored,
  before,
  verb,
  saving: { action, run, reset },
  onClose,
}: {
  stored: EndpointDraft;
  before?: SubscriptionView;
  verb: string;
  saving: ReturnType<typeof useAction<[Edit], unknown>>;
  onClose: () => void;
}) {
  const { can, limits } = usePortal();
  const hints = hintsFor(limits);
  const [draft, setDraft] = useState(stored);
  const moves = before !== undefined && isMove(before, draft);
  // A new secret would not be shown.
  const [keepSecret, setKeepSecret] = useState(!can('secrets'));
  const [isChecked, setIsChecked] = useState(false);
  const rejected = rejectedFields(action);
  const faults = faultsByField(rejected, ENDPOINT_FIELDS);
  const own = isChecked ? typesFault(draft) : undefined;
  const change = draftSetter(draft, setDraft, reset);
  return (
    <Form
      action={action}
      onSubmit={() => {
        setIsChecked(true);
        if (typesFault(draft) === undefined) run({ draft, keepSecret: moves && keepSecret });
      }}
    >
      <InputField
        label="URL"
        hint={hints.url}
        fault={faults.get('subscriber')}
        value={draft.subscriber}
        onValue={change('subscriber')}
        required
        inputMode="url"
        placeholder="https://example.com/webhooks"
      />
      {moves && can('secrets') ? <MoveWarning keepSecret={keepSecret} onKeepSecret={setKeepSecret} /> : null}
      <InputField
        label="Name"
        hint="Optional. Shown in lists beside the URL."
        fault={faults.get('name')}
        value={draft.name}
        onValue={change('name')}
      />
      <EventPicker chosen={draft.types} fault={own ?? faults.get('event_types')} onChosen={change('types')} />
      <InputField
        label="Maximum requests per second"
        hint={hints.rate}
        fault={faults.get('max_per_second')}
        value={draft.perSecond}
        onValue={change('perSecond')}
        inputMode="decimal"
        placeholder="no limit"
      />
      {action.state === 'failed' && !areMarked(rejected, ENDPOINT_FIELDS) ? (
        <Failure of={action.failure} />
      ) : null}
      <FormActions action={action} verb={verb} onClose={onClose} />
    </Form>
  );
}

function hintsFor({ hosts, per_second: rate }: PortalSession['limits']): { url?: string; rate: string } {
  return {
    ...(hosts !== undefined && { url: `Allowed hosts: ${hosts.join(', ')}.` }),
    rate: rate === undefined ? 'Optional.' : `At most ${rate}.`,
  };
}
