import { useState } from 'preact/hooks';
import { patchQueue, putQueue } from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { isQueueName, QUEUE_NAME_RULE } from '../../../../shared/domain/message/message.ts';
import { RETAINED_MESSAGES } from '../../../../shared/domain/message/vocabulary.ts';
import { faultsByField, rejectedFields } from '../../api/failure-words.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { InputField, SelectField, SwitchFields } from '../../parts/fields.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { hrefTo } from '../../route.ts';
import { choiceOf, policyIn } from '../designer/policy-choice.ts';
import { PolicyField } from '../designer/policy-controls.tsx';
import {
  OWN_CONTROLS,
  QUEUE_FIELDS,
  queueDraft,
  type QueueDraft,
  queueFaults,
  queuePatch,
} from './queue-draft.ts';

type Edited = { queue: string; metadata: Record<string, unknown>; onDone: () => void };

/** The button that changes the metadata of a queue, and its form. */
export function EditQueue(edited: Edited) {
  return (
    <DialogButton text="Edit queue" wide>
      {(close) => <EditForm {...edited} onClose={close} />}
    </DialogButton>
  );
}

function EditForm({ queue, metadata, onDone, onClose }: Edited & { onClose: () => void }) {
  const { api } = useConsole();
  // The page reads the queue again and again: the changes are those to what the form showed at first.
  const [before] = useState(() => queueDraft(metadata));
  const [draft, setDraft] = useState(before);
  const { action, run, reset } = useAction(async () => {
    const patch = queuePatch(before, draft);
    if (patch.length > 0) await api.call(patchQueue, { path: { queue }, body: JSON.stringify(patch) });
    onDone();
    onClose();
  });
  const own = queueFaults(draft);
  const rejected = rejectedFields(action);
  const faults = new Map([...faultsByField(rejected, OWN_CONTROLS, QUEUE_FIELDS.others), ...own]);
  const change = (changed: Partial<QueueDraft>): void => {
    setDraft({ ...draft, ...changed });
    reset();
  };
  const field = (name: keyof typeof QUEUE_FIELDS) => ({
    value: draft[name],
    fault: faults.get(QUEUE_FIELDS[name]),
    onValue: (value: string) => {
      change({ [name]: value });
    },
  });
  return (
    <Form action={action} ready={own.size === 0} onSubmit={run}>
      <PolicyField
        none="none: the deployment’s defaults apply"
        choice={draft.policy}
        rejected={rejected}
        onChoice={(policy) => {
          change({ policy });
        }}
      />
      <SelectField
        {...field('retainMessages')}
        label="Message data to keep"
        hint="Kept data can be shown, tested against a filter, and sent again."
      >
        <option value="">as the deployment’s setting retainMessages says</option>
        {RETAINED_MESSAGES.map((choice) => (
          <option key={choice} value={choice}>
            {choice === 'all' ? 'all: of every message' : 'failed: from the first failed attempt on'}
          </option>
        ))}
      </SelectField>
      <div class="window-fields">
        <InputField
          {...field('ttl')}
          label="Default ttl of messages, seconds"
          inputMode="decimal"
          placeholder="none"
        />
        <InputField
          {...field('delay')}
          label="Default delay of messages, seconds"
          inputMode="decimal"
          placeholder="none"
        />
      </div>
      <SwitchFields
        unset="as the deployment says"
        adapt={field('adaptToThrottling')}
        hold={field('holdWhileDown')}
      />
      <InputField
        {...field('others')}
        label="Other metadata"
        hint="A JSON object. Names that begin with an underscore may have a meaning (docs/api.md)."
        rows={6}
        code
      />
      <ActionFailure of={action} />
      {own.size > 0 ? <p class="field-fault">Correct the marked fields first.</p> : null}
      <FormActions action={action} verb="Save" onClose={onClose} />
    </Form>
  );
}

/** The form that creates a queue and opens its page. */
export function CreateQueue({
  label = 'Name',
  onCreated,
  onClose,
}: {
  label?: string;
  onCreated: () => void;
  /** Of the dialog with the form. */
  onClose?: () => void;
}) {
  const { api } = useConsole();
  const [name, setName] = useState('');
  const [policy, setPolicy] = useState(() => choiceOf(undefined));
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
    <Form action={action} ready={isQueueName(name) && policyIn(policy).ok} onSubmit={run}>
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
      <ActionFailure of={action} />
      <FormActions action={action} verb="Create queue" onClose={onClose} />
    </Form>
  );
}
