import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { putQueue } from '../../../../cli/api/queues.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Field } from '../../parts/field.tsx';
import { Empty, Failure } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/work-button.tsx';
import { hrefTo } from '../../route.ts';

/** Shown for a deployment without queues: creates the first one. */
export function NoQueues({ onCreated }: { onCreated: () => void }): JSX.Element {
  const { api } = useConsole();
  const [name, setName] = useState('');
  const { action, run } = useAction(async (queue: string) => {
    await putQueue(api, queue, '{}');
    onCreated();
    location.hash = hrefTo({ page: 'queue', queue });
  });
  return (
    <Empty title="No queues yet">
      <p>
        A queue is a named channel. Producers publish messages to it, and its subscribers get each message as
        an HTTP POST.
      </p>
      <form
        class="stack narrow"
        onSubmit={(event) => {
          event.preventDefault();
          if (action.state !== 'running') run(name);
        }}
      >
        <Field label="Name of the first queue" hint="1 to 64 characters: A-Z a-z 0-9 _ . -">
          {(parts) => (
            <input
              {...parts}
              required
              pattern="[A-Za-z0-9_.\-]{1,64}"
              value={name}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => {
                setName(currentTarget.value);
              }}
            />
          )}
        </Field>
        <WorkButton action={action} kind="primary" submit>
          Create queue
        </WorkButton>
        {action.state === 'failed' ? <Failure of={action.failure} /> : null}
      </form>
    </Empty>
  );
}
