import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { subscribe, updateSubscription } from '../../../api-client/operations.ts';
import { areMarked, faultsByField, rejectedFields } from '../../../console/src/api/failure-words.ts';
import { useAction } from '../../../console/src/live/hooks.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { AddressFields, isMove } from '../../../console/src/parts/address-fields.tsx';
import { NumberField, useDraft } from '../../../console/src/parts/fields.tsx';
import { CloseProvider, Form, useClose } from '../../../console/src/parts/form.tsx';
import { Section } from '../../../console/src/parts/page-heading.tsx';
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

type Edited = { endpoint?: SubscriptionView; onDone: () => void };

/**
 * The form of a new endpoint, or of an existing one, then its new signing secret, once. It is a section: the page that
 * embeds the portal would show a dialog far from the button. As a dialog does, it takes the focus while it is open.
 */
export function EditEndpoint({ onClose, ...edited }: Edited & { onClose: () => void }) {
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    section.current?.querySelector('input')?.focus();
    return () => document.querySelector('h1')?.focus();
  }, []);
  return (
    <CloseProvider value={onClose}>
      <div ref={section}>
        <Section title={edited.endpoint === undefined ? 'New endpoint' : 'Change the endpoint'}>
          <EndpointEditor {...edited} />
        </Section>
      </div>
    </CloseProvider>
  );
}

function EndpointEditor({ endpoint, onDone }: Edited) {
  const { api } = usePage();
  const close = useClose();
  const portal = usePortal();
  // The page reads the endpoint again and again: the changes are those to what the form showed at first.
  const [before] = useState(endpoint);
  const saving = useAction(async (edit: Edit) => {
    const secret = await save(api, portal, edit, before);
    onDone();
    if (secret === undefined) close();
    return secret;
  });
  if (saving.action.state !== 'done') return <EndpointForm before={before} saving={saving} />;
  const { result: secret } = saving.action;
  return secret === undefined ? null : (
    <NewSecret what="signing secret of the endpoint" secret={secret}>
      <p>Store it where your endpoint verifies the signature of each request.</p>
    </NewSecret>
  );
}

/** Returns the secret if it is new: of a new endpoint, or of one that moved to another origin. */
async function save(
  api: ApiClient,
  portal: PortalSession,
  { draft, keepSecret }: Edit,
  before: SubscriptionView | undefined,
): Promise<string | undefined> {
  const { queue } = portal;
  if (before === undefined) {
    const body = JSON.stringify(buildCreation(draft));
    return (await api.call(subscribe, { path: { queue }, body })).secret;
  }
  const patch = buildPatch(before, draft, portal);
  if (patch === undefined) return undefined;
  const body = JSON.stringify({ ...patch, ...(keepSecret && { secret: 'keep' }) });
  const path = { queue, subscription: before.id };
  return (await api.call(updateSubscription, { path, body })).secret;
}

/** `keepSecret`: although the endpoint moves to another origin. */
type Edit = { draft: EndpointDraft; keepSecret: boolean };

function EndpointForm({
  before,
  saving: { action, run, reset },
}: {
  before: SubscriptionView | undefined;
  saving: ReturnType<typeof useAction<[Edit], unknown>>;
}) {
  const portal = usePortal();
  const { can, limits } = portal;
  const hints = hintsFor(limits);
  const stored = before === undefined ? newEndpoint(portal) : endpointDraft(before, portal);
  const { draft, change, control } = useDraft(stored, reset);
  const moves = isMove(before, draft);
  // A new secret would not be shown.
  const [keepSecret, setKeepSecret] = useState(!can('secrets'));
  const [isChecked, setIsChecked] = useState(false);
  const rejected = rejectedFields(action);
  const faults = faultsByField(rejected, ENDPOINT_FIELDS);
  const own = isChecked ? typesFault(draft) : undefined;
  const field = (name: 'subscriber' | 'name' | 'max_per_second') => control(name, faults);
  return (
    <Form
      action={action}
      verb={before === undefined ? 'Create' : 'Save'}
      isMarked={areMarked(rejected, ENDPOINT_FIELDS)}
      onSubmit={() => {
        setIsChecked(true);
        if (typesFault(draft) === undefined) run({ draft, keepSecret: moves && keepSecret });
      }}
    >
      <AddressFields
        subscriber={field('subscriber')}
        name={field('name')}
        hint={hints.url}
        move={moves && can('secrets') ? { keepSecret, onKeepSecret: setKeepSecret } : undefined}
      />
      <EventPicker
        chosen={draft.event_types}
        fault={own ?? faults.get('event_types')}
        onChosen={change('event_types')}
      />
      <NumberField
        {...field('max_per_second')}
        label="Maximum requests per second"
        hint={hints.rate}
        placeholder="no limit"
      />
    </Form>
  );
}

function hintsFor({ hosts, per_second: rate }: PortalSession['limits']): { url?: string; rate: string } {
  return {
    ...(hosts !== undefined && { url: `Allowed hosts: ${hosts.join(', ')}.` }),
    rate: rate === undefined ? 'Optional.' : `At most ${rate}.`,
  };
}
