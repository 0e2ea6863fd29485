import { useState } from 'preact/hooks';
import * as z from 'zod';
import { patchQueue, putQueue } from '../../../../api-client/operations.ts';
import { findQueue, metadataPointer } from '../../../../api-client/queues.ts';
import { toRecord, wordsIn } from '../../../../shared/domain/delivery/vocabulary.ts';
import { isQueueName, QUEUE_NAME_RULE } from '../../../../shared/domain/message/message.ts';
import type { EventValidation, RetainedMessages } from '../../../../shared/domain/subscription/vocabulary.ts';
import { retryPolicySchema } from '../../../../shared/domain/retry/policy-schema.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { type Faults, faultsByField, rejectedFields } from '../../api/failure-words.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import {
  InputField,
  jsonFault,
  jsonIn,
  NumberField,
  numberIn,
  SelectField,
  SwitchFields,
  toFieldText,
  useDraft,
} from '../../parts/fields.tsx';
import { Form, useClose } from '../../parts/form.tsx';
import { hrefTo } from '../../route.ts';
import { toChoice, type PolicyChoice, policyIn, PolicyField } from '../designer/policy-controls.tsx';

type EditQueueProps = {
  queue: string;
  metadata: Metadata;
  onDone: () => void;
};

/** The form that changes the metadata of a queue. */
export function EditQueue({ queue, metadata, onDone }: EditQueueProps) {
  const { api } = useConsole();
  const close = useClose();
  // The page reads the queue again and again: the changes are those to what the form showed at first.
  const [before] = useState(() => queueDraft(metadata));
  const { draft, change, control } = useDraft(before, () => reset());
  const { action, run, reset } = useAction(async () => {
    const patch = queuePatch(before, draft);
    if (patch.length > 0) await api.call(patchQueue, { path: { queue }, body: JSON.stringify(patch) });
    onDone();
    close();
  });
  const own = queueFaults(draft);
  const rejected = rejectedFields(action);
  const faults = new Map([...faultsByField(rejected, OWN_CONTROLS, 'others'), ...own]);
  const field = (name: TextField | 'others') => control(name, faults);
  return (
    <Form action={action} ready={own.size === 0} verb="Save" onSubmit={run}>
      <PolicyField
        none="none: the deployment’s defaults apply"
        choice={draft.policy}
        rejected={rejected}
        onChoice={change('policy')}
      />
      <SelectField
        {...field('_retain_messages')}
        label="Message data to keep"
        hint="Kept data can be shown, tested against a filter, and sent again."
        options={[['', 'as the deployment’s setting retainMessages says'], ...Object.entries(RETAINED)]}
      />
      <SelectField
        {...field('_event_validation')}
        label="Check messages against the event types"
        hint="The catalogue says which types there are, and what their data has to be."
        options={[['', 'as the deployment’s setting eventValidation says'], ...Object.entries(VALIDATIONS)]}
      />
      <div class="window-fields">
        <NumberField
          {...field('_default_message_ttl')}
          label="Default ttl of messages, seconds"
          placeholder="none"
        />
        <NumberField
          {...field('_default_message_delay')}
          label="Default delay of messages, seconds"
          placeholder="none"
        />
      </div>
      <SwitchFields
        unset="as the deployment says"
        adapt={field('_adapt_to_throttling')}
        hold={field('_hold_while_down')}
      />
      <InputField
        {...field('others')}
        label="Other metadata"
        hint="A JSON object. Names that begin with an underscore may have a meaning (docs/api.md)."
        rows={6}
        code
      />
      {own.size > 0 ? <p class="field-fault">Correct the marked fields first.</p> : null}
    </Form>
  );
}

const RETAINED: Readonly<Record<RetainedMessages, string>> = {
  failed: 'failed: from the first failed attempt on, or without a subscription',
  all: 'all: of every message',
};

const VALIDATIONS: Readonly<Record<EventValidation, string>> = {
  off: 'off: no message is checked',
  warn: 'warn: a message that does not fit is delivered, with a note on its page',
  reject: 'reject: a message that does not fit becomes a dead letter',
};

/** The form that creates a queue and opens its page. */
export function CreateQueue({ label = 'Name', onCreated }: { label?: string; onCreated: () => void }) {
  const { api } = useConsole();
  const [name, setName] = useState('');
  const [policy, setPolicy] = useState(() => toChoice(undefined));
  const { action, run, reset } = useAction(async () => {
    // PUT would replace the metadata of an existing queue.
    if ((await findQueue(api, name)) !== undefined) return 'exists';
    const given = policyIn(policy);
    await api.call(putQueue, {
      path: { queue: name },
      body: JSON.stringify(given.ok ? { _retry_policy: given.value } : {}),
    });
    onCreated();
    location.hash = hrefTo({ page: 'queue', queue: name });
    return 'created';
  });
  const isWrong = name !== '' && !isQueueName(name);
  const exists = action.state === 'done' && action.result === 'exists';
  return (
    <Form action={action} ready={isQueueName(name) && policyIn(policy).ok} verb="Create queue" onSubmit={run}>
      <InputField
        label={label}
        hint={isWrong ? undefined : QUEUE_NAME_RULE}
        fault={isWrong ? QUEUE_NAME_RULE : exists ? `There is already a queue ${name}.` : undefined}
        required
        value={name}
        onValue={(next) => {
          setName(next);
          reset();
        }}
      />
      <PolicyField
        none="none: the deployment’s defaults apply"
        choice={policy}
        rejected={rejectedFields(action)}
        onChoice={(choice) => {
          setPolicy(choice);
          reset();
        }}
      />
    </Form>
  );
}

type Metadata = Readonly<Record<string, unknown>>;

const objectSchema = z.record(z.string(), z.unknown());

/** The metadata for the text of a field; undefined: none. */
const VALUES = {
  _retain_messages: (text) => (text === '' ? undefined : text),
  _event_validation: (text) => (text === '' ? undefined : text),
  _default_message_ttl: numberIn,
  _default_message_delay: numberIn,
  _adapt_to_throttling: jsonIn,
  _hold_while_down: jsonIn,
} satisfies Record<string, (text: string) => unknown>;

type TextField = keyof typeof VALUES;

const TEXT_FIELDS = wordsIn(VALUES);

/** The metadata of a queue in its form. An empty text means that the queue has none. `others`: a JSON object. */
type QueueDraft = Record<TextField | 'others', string> & { policy: PolicyChoice };

const POLICY = '_retry_policy';

/** The metadata that has its own control. */
const OWN_CONTROLS: readonly string[] = [POLICY, ...TEXT_FIELDS];

export function queueDraft(metadata: Metadata): QueueDraft {
  const others = Object.entries(metadata).filter(([name]) => !OWN_CONTROLS.includes(name));
  return {
    ...toRecord(TEXT_FIELDS, (name) => toFieldText(metadata[name])),
    policy: toChoice(queuePolicy(metadata)),
    others: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
  };
}

/** The retry policy in the metadata of a queue; undefined: none that is valid. */
export function queuePolicy(metadata: Metadata = {}): PartialRetryPolicy | undefined {
  return retryPolicySchema.safeParse(metadata[POLICY]).data;
}

/** Errors that the form can see without the API. */
export function queueFaults({ policy, others }: QueueDraft): Faults {
  const fault = othersFault(others);
  return new Map([
    ...(policyIn(policy).ok ? [] : [[POLICY, 'has errors'] as const]),
    ...(fault === undefined ? [] : [['others', fault] as const]),
  ]);
}

function othersFault(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const fault = jsonFault(text);
  if (fault !== undefined) return fault;
  const given = objectSchema.safeParse(JSON.parse(text));
  if (!given.success) return 'This is not a JSON object.';
  const twice = Object.keys(given.data).find((name) => OWN_CONTROLS.includes(name));
  return twice === undefined ? undefined : `${twice} has its own field.`;
}

type Operation = { op: 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

/** The JSON patch (RFC 6902) that makes the changes of the form. It leaves all other metadata as it is. */
export function queuePatch(before: QueueDraft, after: QueueDraft): Operation[] {
  const [old, next] = [membersIn(before), membersIn(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((name): Operation[] => {
    const path = metadataPointer(name);
    const value = next[name];
    if (JSON.stringify(old[name]) === JSON.stringify(value)) return [];
    return [value === undefined ? { op: 'remove', path } : { op: 'add', path, value }];
  });
}

/** The metadata in the form. The draft has no errors. */
function membersIn({ policy, others, ...texts }: QueueDraft): Record<string, unknown> {
  const checked = policyIn(policy);
  return {
    ...objectSchema.parse(others.trim() === '' ? {} : JSON.parse(others)),
    [POLICY]: checked.ok ? checked.value : undefined,
    ...toRecord(TEXT_FIELDS, (name) => VALUES[name](texts[name])),
  };
}
