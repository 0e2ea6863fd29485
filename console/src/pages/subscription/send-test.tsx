import { useState } from 'preact/hooks';
import { sendTest } from '../../../../api-client/test-subscription.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { Form, FormActions } from '../../parts/form.tsx';
import { InputField, jsonFault } from '../../parts/fields.tsx';
import { ActionFailure, Notice } from '../../parts/loaded.tsx';
import { Status } from '../../parts/status.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

/** Sends a test message to one subscription and shows the response. */
export function SendTest({ queue, id, onSent }: { queue: string; id: string; onSent: () => void }) {
  const { api } = useConsole();
  const [data, setData] = useState('{"test": true}');
  const fault = jsonFault(data);
  const { action, run } = useAction(async () => {
    const delivery = await sendTest(api, { queue, subscription: id }, `{"data":${data}}`);
    onSent();
    return delivery;
  });
  return (
    <Form action={action} ready={fault === undefined} onSubmit={run}>
      <InputField
        label="Data"
        hint="Sent regardless of the subscription’s filter. Signed and recorded like any message."
        rows={4}
        code
        fault={fault}
        value={data}
        onValue={setData}
      />
      <FormActions action={action} verb={action.state === 'running' ? 'Sending' : 'Send'} />
      {action.state === 'done' ? <Answer delivery={action.result} /> : null}
      <ActionFailure of={action} />
    </Form>
  );
}

function Answer({ delivery }: { delivery: DeliveryView }) {
  const { queue, messageId, subscriptionId, status, reason, attempts } = delivery;
  const last = attempts.at(-1);
  return (
    <Notice
      tone={status === 'delivered' ? 'success' : 'warning'}
      title={<Status of={status} reason={reason} />}
    >
      <p>
        {last === undefined
          ? 'The first attempt has not finished yet. '
          : `Response: ${last.statusCode ?? last.error ?? ''} after ${durationText(last.durationMs)}. `}
        <a href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}>
          Show the delivery
        </a>
      </p>
      {last?.snippet === undefined || last.snippet === '' ? null : <pre class="snippet">{last.snippet}</pre>}
    </Notice>
  );
}
