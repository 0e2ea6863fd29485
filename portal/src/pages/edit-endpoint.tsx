import { useState } from 'preact/hooks';
import type { ApiClient } from '../../../api-client/api-client.ts';
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

/** The form of a new endpoint, or of an existing one, then its new signing secret, once. */
export function EditEndpoint({
  endpoint,
  onDone,
  onClose,
}: {
  endpoint?: SubscriptionView;
  onDone: () => void;
  onClose: () => void;
}) {
  const { api } = usePage();
  const portal = usePortal();
  // The page reads the endpoint again and again: the changes are those to what the form showed at first.
  const [before] = useState(endpoint);
  const saving = useAction(async (edit: Edit) => {
    const secret = await save(api, portal.queue, edit, before);
    onDone();
    if (secret === undefined) onClose();
    return secret;
  });
  if (saving.action.state !== 'done')
    return (
      <EndpointForm
        {...(before === undefined
          ? { stored: newEndpoint(portal), verb: 'Create' }
          : { stored: endpointDraft(before), verb: 'Save', before })}
        saving={saving}
        onClose={onClose}
      />
    );
  const { result: secret } = saving.action;
  return secret === undefined ? null : (
    <NewSecret what="signing secret of the endpoint" secret={secret} onDone={onClose}>
      <p>Store it where your endpoint verifies the signature of each request.</p>
    </NewSecret>
  );
}

/** Returns the secret if it is new: of a new endpoint, or of one that moved to another origin. */
async function save(
  api: ApiClient,
  queue: string,
  { draft, keepSecret }: Edit,
  before: SubscriptionView | undefined,
): Promise<string | undefined> {
  if (before === undefined) {
    const body = JSON.stringify(buildCreation(draft));
    return (await api.call(subscribe, { path: { queue }, body })).secret;
  }
  const patch = buildPatch(before, draft);
  if (patch === undefined) return undefined;
  const body = JSON.stringify({ ...patch, ...(keepSecret && { secret: 'keep' }) });
  const path = { queue, subscription: before.id };
  return (await api.call(updateSubscription, { path, body })).secret;
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
