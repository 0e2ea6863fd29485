import { useState } from 'preact/hooks';
import { postMessages } from '../../../../api-client/operations.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Form } from '../../parts/form.tsx';
import { InputField, jsonFault } from '../../parts/fields.tsx';
import { ActionFailure, Notice } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/buttons.tsx';
import { hrefTo } from '../../route.ts';

const EXAMPLE = '{\n  "test": true\n}';

/** Publishes one test message to a queue. */
export function Publish({ queue, onPublished }: { queue: string; onPublished: () => void }) {
  const { api } = useConsole();
  const [type, setType] = useState('');
  const [data, setData] = useState(EXAMPLE);
  const fault = jsonFault(data);
  const { action, run } = useAction(async () => {
    // The data is sent as typed: parsing and printing it would round big integers.
    const head = type === '' ? '' : `"type":${JSON.stringify(type)},`;
    const id = JSON.stringify(crypto.randomUUID());
    const body = `{"messages":[{"id":${id},${head}"body":${data}}]}`;
    const { ids } = await api.call(postMessages, { path: { queue }, body });
    onPublished();
    return ids[0] ?? '';
  });
  return (
    <Form action={action} ready={fault === undefined} onSubmit={run}>
      <InputField
        label="Type"
        hint="Optional. Subscriptions can filter by it."
        placeholder="order.created"
        maxLength={256}
        value={type}
        onValue={setType}
      />
      <InputField
        label="Data"
        hint="Any JSON. Subscribers get it exactly as typed."
        rows={5}
        code
        fault={fault}
        value={data}
        onValue={setData}
      />
      <div class="actions">
        <WorkButton action={action} kind="primary" submit>
          Publish
        </WorkButton>
      </div>
      {action.state === 'done' ? (
        <Notice tone="success" title="Published">
          <p>
            It is recorded within about a second:{' '}
            <a class="id" href={hrefTo({ page: 'message', queue, message: action.result })}>
              {action.result}
            </a>
          </p>
        </Notice>
      ) : null}
      <ActionFailure of={action} />
    </Form>
  );
}
