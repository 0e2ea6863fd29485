import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isQueueName, QUEUE_NAME_RULE } from '../../../../shared/domain/message/message.ts';
import { putQueue } from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { rejectedFields } from '../../api/form-faults.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Form, FormActions } from '../../parts/form.tsx';
import { InputField } from '../../parts/fields.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { hrefTo } from '../../route.ts';
import { choiceOf, policyIn } from '../designer/policy-choice.ts';
import { PolicyField } from '../designer/policy-field.tsx';

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
}): JSX.Element {
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
  const exists = action.state === 'done' && action.result === 'exists';
  return (
    <Form action={action} ready={isQueueName(name) && policyIn(policy).ok} onSubmit={run}>
      <NameField
        label={label}
        name={name}
        fault={exists ? `There is already a queue ${name}.` : undefined}
        onName={(next) => {
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

function NameField({
  label,
  name,
  fault,
  onName,
}: {
  label: string;
  name: string;
  fault: string | undefined;
  onName: (name: string) => void;
}): JSX.Element {
  const isWrong = name !== '' && !isQueueName(name);
  return (
    <InputField
      label={label}
      hint={isWrong ? undefined : QUEUE_NAME_RULE}
      fault={isWrong ? QUEUE_NAME_RULE : fault}
      required
      value={name}
      onValue={onName}
    />
  );
}
