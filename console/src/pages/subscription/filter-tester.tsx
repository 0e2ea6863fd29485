import { useMemo, useState } from 'preact/hooks';
import { dataIn, showMessage } from '../../../../api-client/messages.ts';
import { type ListedMessage, listMessages } from '../../../../api-client/operations.ts';
import { parseContentFilter } from '../../../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../../../shared/domain/subscription/content-filter.ts';
import { filtered, readFirst } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { WorkButton } from '../../parts/form.tsx';
import { InputField, jsonFault, SelectField } from '../../parts/fields.tsx';
import { ActionFailure, Failure } from '../../parts/loaded.tsx';
import { momentText } from '../../parts/time-text.ts';

const MOST = 20;
/** Messages without data are passed over. */
const MAX_READ = 200;

type FilterTesterProps = {
  queue: string;
  eventTypes: readonly string[];
  filter: string;
};

/** Applies a filter to a recent message of the queue, or to pasted data. */
export function FilterTester({ queue, eventTypes, filter }: FilterTesterProps) {
  const { api } = useConsole();
  const [type, setType] = useState('');
  const [data, setData] = useState('');
  const recent = useAction(() => {
    const all = api.list(listMessages, { path: { queue }, most: MAX_READ });
    const withData = filtered(all, ({ bodyKept }) => bodyKept);
    return readFirst(withData, MOST);
  });
  const chosen = useAction(async (id: string) => {
    const message = await showMessage(api, queue, id);
    setType(message.view.type ?? '');
    setData(dataIn(message) ?? '');
  });
  const verdict = useMemo(
    () => (data.trim() === '' ? undefined : testFilter({ eventTypes, filter, type, data })),
    [eventTypes.join('\n'), filter, type, data],
  );
  return (
    <details class="filter-tester">
      <summary>Test the filter</summary>
      <div class="stack">
        <RecentMessages
          recent={recent}
          onChosen={(id) => {
            if (id !== '') chosen.run(id);
          }}
        />
        <ActionFailure of={chosen.action} />
        <InputField label="Type of the message" value={type} onValue={setType} />
        <InputField
          label="Data of the message"
          hint="JSON: chosen above, or pasted. It is not sent anywhere."
          rows={5}
          code
          value={data}
          onValue={setData}
        />
        <p aria-live="polite">
          {verdict === undefined ? (
            <span class="muted">Choose a message or paste data.</span>
          ) : (
            <Verdict of={verdict} />
          )}
        </p>
      </div>
    </details>
  );
}

function RecentMessages({
  recent: { action, run },
  onChosen,
}: {
  recent: ReturnType<typeof useAction<[], { items: ListedMessage[] }>>;
  onChosen: (id: string) => void;
}) {
  if (action.state === 'failed') return <Failure of={action.failure} />;
  if (action.state !== 'done')
    return (
      <WorkButton action={action} onClick={run}>
        Load recent messages
      </WorkButton>
    );
  const { items } = action.result;
  if (items.length === 0) return <p class="muted">No data of a message of the last 24 hours is stored.</p>;
  return (
    <SelectField
      label="Recent message"
      onValue={onChosen}
      options={[['', 'choose one'], ...items.map((message) => [message.id, messageText(message)] as const)]}
    />
  );
}

function messageText({ id, type, acceptedAt }: ListedMessage): string {
  return [id, ...(type === undefined ? [] : [type]), momentText(acceptedAt)].join(' · ');
}

function Verdict({ of: { matches, text } }: { of: FilterVerdict }) {
  if (matches === undefined) return <span class="field-fault">{text}</span>;
  return <strong class={matches ? 'tone-delivered' : 'tone-rejected'}>{text}</strong>;
}

/** Whether a subscription would get a message, and why not. `matches` undefined: the filter or the data cannot be read. */
type FilterVerdict = { matches?: boolean; text: string };

type Given = { eventTypes: readonly string[]; filter: string; type: string; data: string };

/** As many as dispatch grants one filter. */
const MAX_STEPS = 200_000;

const MATCHES = { matches: true, text: 'Matches: this message is sent.' };

/** Applies the filter as dispatch does. `filter` and `data` are JSON; an empty filter matches everything. */
export function testFilter({ eventTypes, filter, type, data }: Given): FilterVerdict {
  const fault = jsonFault(data);
  if (fault !== undefined) return { text: `The data cannot be read: ${fault}` };
  if (eventTypes.length > 0 && !eventTypes.includes(type))
    return { matches: false, text: 'Filtered: the type is not among the event types.' };
  return filter.trim() === '' ? MATCHES : testData(filter, JSON.parse(data));
}

function testData(filter: string, data: unknown): FilterVerdict {
  const fault = jsonFault(filter);
  if (fault !== undefined) return { text: `The filter cannot be read: ${fault}` };
  const parsed = parseContentFilter(JSON.parse(filter));
  if (!parsed.ok) {
    const faults = parsed.faults.map(({ path, message }) =>
      `${path.map(String).join('.')} ${message}`.trim(),
    );
    return { text: `The filter cannot be read: ${faults.join('; ')}` };
  }
  const budget = { steps: MAX_STEPS, listsRead: new WeakMap() };
  const { mismatch: path } = evaluateFilter(parsed.filter, data, budget);
  return path === undefined ? MATCHES : { matches: false, text: `Filtered: ${path} does not match.` };
}
