import { useState } from 'preact/hooks';
import { testSubscription } from '../../../api-client/operations.ts';
import { sendTest } from '../../../api-client/test-subscription.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { useAction } from '../live/hooks.ts';
import { usePage } from '../live/page-context.tsx';
import { hrefTo } from '../route.ts';
import { InputField, jsonFault, SelectField } from './fields.tsx';
import { Form } from './form.tsx';
import { Notice } from './loaded.tsx';
import { Status } from './status.tsx';
import { durationText } from './time-text.ts';

/** A message of the event catalogue. */
export type Example = { name: string; example?: unknown };

const TEST_DATA = '{"test": true}';

type SendTestProps = {
  queue: string;
  id: string;
  /** To choose the type and the data from. */
  examples?: readonly Example[];
  /** False: the result is what the API shows at first. */
  seesDeliveries?: boolean;
  onSent: () => void;
};

/** Sends a test message to one subscription and shows the response. */
export function SendTest({ queue, id, examples = [], seesDeliveries = true, onSent }: SendTestProps) {
  const { api } = usePage();
  const [type, setType] = useState('');
  const [data, setData] = useState(TEST_DATA);
  const fault = jsonFault(data);
  const { action, run } = useAction(async () => {
    const body = type === '' ? `{"data":${data}}` : `{"type":${JSON.stringify(type)},"data":${data}}`;
    const path = { queue, subscription: id };
    const delivery = seesDeliveries
      ? await sendTest(api, path, body)
      : (await api.call(testSubscription, { path, body })).delivery;
    onSent();
    return delivery;
  });
  return (
    <Form
      action={action}
      ready={fault === undefined}
      verb={action.state === 'running' ? 'Sending' : 'Send'}
      onSubmit={run}
      result={action.state === 'done' ? <Answer delivery={action.result} isLinked={seesDeliveries} /> : null}
    >
      {examples.length === 0 ? null : (
        <SelectField
          label="Event"
          value={type}
          onValue={(name) => {
            const chosen = examples.find((one) => one.name === name);
            setType(name);
            setData(chosen?.example === undefined ? TEST_DATA : JSON.stringify(chosen.example, null, 2));
          }}
          options={[['', 'a test message'], ...examples.map(({ name }) => name)]}
        />
      )}
      <InputField
        label="Data"
        hint="Sent regardless of chosen events and filters. Signed and recorded like any message."
        rows={examples.length === 0 ? 4 : 8}
        code
        fault={fault}
        value={data}
        onValue={setData}
      />
    </Form>
  );
}

function Answer({ delivery, isLinked }: { delivery: DeliveryView; isLinked: boolean }) {
  const { queue, messageId, subscriptionId, status, reason, attempts } = delivery;
  const last = attempts.at(-1);
  return (
    <Notice
      tone={status === 'delivered' ? 'success' : 'warning'}
      title={<Status of={status} reason={reason} />}
    >
      <p>
        {describeResult(last)}{' '}
        {isLinked ? (
          <a href={hrefTo({ page: 'delivery', queue, messageId, subscriptionId })}>Show the delivery</a>
        ) : null}
      </p>
      {last?.snippet === undefined || last.snippet === '' ? null : <pre class="snippet">{last.snippet}</pre>}
    </Notice>
  );
}

function describeResult(last: DeliveryView['attempts'][number] | undefined): string {
  if (last === undefined) return 'The first attempt has not finished yet.';
  return `Response: ${last.statusCode ?? last.error ?? ''} after ${durationText(last.durationMs)}.`;
}
