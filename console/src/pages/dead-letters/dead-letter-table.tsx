import { shortId } from '../../../../api-client/subscription-labels.ts';
import { counted } from '../../../../api-client/words.ts';
import { sumOfCounts } from '../../../../shared/domain/delivery/books.ts';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import {
  deadLetterDetailSchema,
  type DeadLetterLook,
  type DeadLetterResult,
  deadLetterResultSchema,
  type DeadLetterView,
} from '../../../../shared/wire/views/console.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction, useLoaded, useNow } from '../../live/hooks.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { Facts, Moment } from '../../parts/facts.tsx';
import { CloseButton, Form, SmallButton } from '../../parts/form.tsx';
import { Loaded, Notice } from '../../parts/loaded.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { relativeText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

type Shown = {
  which: RedrivenQueue;
  look: DeadLetterLook;
  chosen: ReadonlySet<string>;
  onChosen: (chosen: ReadonlySet<string>) => void;
};

export function DeadLetterTable({ which, look: { deadLetters, place }, chosen, onChosen }: Shown) {
  const now = useNow();
  const choose = (id: string, isChosen: boolean): void => {
    const others = [...chosen].filter((one) => one !== id);
    onChosen(new Set(isChosen ? [...others, id] : others));
  };
  const all = deadLetters.every(({ id }) => chosen.has(id));
  return (
    <>
      <p>
        <SmallButton onClick={() => onChosen(new Set(all ? [] : deadLetters.map(({ id }) => id)))}>
          {all ? 'Select none' : 'Select all'}
        </SmallButton>
      </p>
      <Table
        caption="Dead letters"
        columns={[
          {
            head: 'Select',
            cell: ({ id }) => (
              <input
                type="checkbox"
                aria-label={`Select ${id}`}
                checked={chosen.has(id)}
                onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
              />
            ),
          },
          {
            head: 'Sent',
            cell: ({ sentAt }) => <time datetime={sentAt}>{relativeText(Date.parse(sentAt), now)}</time>,
          },
          ...COLUMNS,
          { head: 'Dead letter', cell: ({ id }) => <ShowDeadLetter which={which} id={id} place={place} /> },
        ]}
        rows={deadLetters}
        keyOf={({ id }) => id}
      />
    </>
  );
}

const COLUMNS: readonly Column<DeadLetterView>[] = [
  {
    head: 'Reason',
    cell: ({ reason = 'none', state }) => (
      <>
        {reason}
        {state === undefined ? null : <span class="sub">now {state.replaceAll('_', ' ')}</span>}
      </>
    ),
  },
  {
    head: 'Queue',
    cell: ({ queue }) => (queue === undefined ? '' : <a href={hrefTo({ page: 'queue', queue })}>{queue}</a>),
  },
  {
    head: 'Message',
    cell: ({ queue, messageId, subscriptionIds: [first, ...others] }) => (
      <>
        {queue === undefined || messageId === undefined ? (
          ''
        ) : (
          <a class="id" href={hrefTo({ page: 'message', queue, message: messageId })}>
            {messageId}
          </a>
        )}
        {first === undefined ? null : (
          <span class="sub">
            to{' '}
            {queue === undefined ? (
              shortId(first)
            ) : (
              <a class="id" href={hrefTo({ page: 'subscription', queue, subscription: first })}>
                {shortId(first)}
              </a>
            )}
            {others.length === 0 ? '' : ` and ${others.length} more`}
          </span>
        )}
      </>
    ),
  },
  { head: 'Received', numeric: true, cell: ({ receives }) => receives ?? '' },
  { head: 'Excerpt', wide: true, cell: ({ excerpt }) => <code>{excerpt}</code> },
];

/** A button that shows the whole dead letter. */
function ShowDeadLetter({ which, id, place }: { which: RedrivenQueue; id: string; place: string }) {
  return (
    <DialogButton text="Show" what={id} title="Dead letter">
      <div class="stack">
        <Whole which={which} id={id} place={place} />
        <CloseButton>Close</CloseButton>
      </div>
    </DialogButton>
  );
}

function Whole({ which, id, place }: { which: RedrivenQueue; id: string; place: string }) {
  const { api } = useConsole();
  const path = `/dead-letters/${which}/${encodeURIComponent(id)}`;
  const live = useLoaded(() => api.local(path, deadLetterDetailSchema));
  return (
    <Loaded live={live} lines={8}>
      {({ sentAt, attributes, body }) => (
        <>
          <Facts
            facts={[
              ['Deployment', place],
              ['SQS message id', id],
              ['Sent', <Moment at={sentAt} />],
              ...Object.entries(attributes).map(([name, value]) => [`Attribute ${name}`, value] as const),
            ]}
          />
          <SourceText text={body} what="the body" />
        </>
      )}
    </Loaded>
  );
}

const CHANGES = {
  redrive: {
    verb: 'Redrive',
    past: 'redriven',
    kind: 'primary',
    effect: 'They are sent back to their queue. Undeliverable deliveries get another round of attempts.',
  },
  delete: { verb: 'Delete', past: 'deleted', kind: 'danger', effect: 'They cannot be restored.' },
} as const;

type Chosen = { which: RedrivenQueue; place: string; chosen: ReadonlySet<string>; onDone: () => void };

/** Redrives or deletes the chosen dead letters, after a question. */
export function ChangeChosen(props: Chosen) {
  if (props.chosen.size === 0) return <p class="muted">Select dead letters to redrive or delete them.</p>;
  return (
    <div class="actions">
      <ChangeButton change="redrive" {...props} />
      <ChangeButton change="delete" {...props} />
    </div>
  );
}

function ChangeButton({ change, which, place, chosen, onDone }: Chosen & { change: keyof typeof CHANGES }) {
  const { api } = useConsole();
  const { verb, past, kind, effect } = CHANGES[change];
  const { action, run, reset } = useAction(() =>
    api.local(`/dead-letters/${which}/${change}`, deadLetterResultSchema, {
      method: 'POST',
      body: JSON.stringify({ ids: [...chosen] }),
    }),
  );
  const isDone = action.state === 'done';
  return (
    <DialogButton
      text={`${verb} ${counted(chosen.size, 'dead letter', 'dead letters')}`}
      kind={kind}
      onClose={isDone ? onDone : reset}
    >
      {isDone ? (
        <div class="stack">
          <p>In {place}.</p>
          <Notice tone="success" title={resultText(action.result, past)} />
          <CloseButton>Done</CloseButton>
        </div>
      ) : (
        <Form action={action} verb={verb} kind={kind} onSubmit={run}>
          <p>In {place}.</p>
          <p>{effect}</p>
        </Form>
      )}
    </DialogButton>
  );
}

/** `2 redriven, 1 settled (delivered 1), 1 skipped (not_json 1).` */
function resultText({ handled, settled, skipped, missing }: DeadLetterResult, past: string): string {
  const parts = [
    `${handled} ${past}`,
    ...countedBy('settled', settled),
    ...countedBy('skipped', skipped),
    ...(missing === 0 ? [] : [`${missing} not found: another program removed or holds them`]),
  ];
  return `${parts.join(', ')}.`;
}

function countedBy(word: string, counts: Readonly<Record<string, number>>): string[] {
  const entries = Object.entries(counts);
  if (entries.length === 0) return [];
  return [
    `${sumOfCounts(counts)} ${word} (${entries.map(([reason, count]) => `${reason} ${count}`).join(', ')})`,
  ];
}
