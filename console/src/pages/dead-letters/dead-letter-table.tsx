import { useState } from 'preact/hooks';
import { shortId } from '../../../../api-client/subscription-labels.ts';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import type {
  DeadLetterDetail,
  DeadLetterLook,
  DeadLetterView,
} from '../../../../shared/wire/views/console.ts';
import { showDeadLetter } from '../../api/dead-letters.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useNow } from '../../live/hooks.ts';
import { useAction } from '../../live/use-action.ts';
import { WorkButton } from '../../parts/buttons.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts, Moment } from '../../parts/facts.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { relativeText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

export function DeadLetterTable({
  which,
  look: { deadLetters, place },
  chosen,
  onChosen,
}: {
  which: RedrivenQueue;
  look: DeadLetterLook;
  chosen: ReadonlySet<string>;
  onChosen: (chosen: ReadonlySet<string>) => void;
}) {
  const now = useNow();
  const choose = (id: string, isChosen: boolean): void => {
    const others = [...chosen].filter((one) => one !== id);
    onChosen(new Set(isChosen ? [...others, id] : others));
  };
  const all = deadLetters.every(({ id }) => chosen.has(id));
  return (
    <>
      <p>
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            onChosen(new Set(all ? [] : deadLetters.map(({ id }) => id)));
          }}
        >
          {all ? 'Select none' : 'Select all'}
        </button>
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
                onChange={({ currentTarget }) => {
                  choose(id, currentTarget.checked);
                }}
              />
            ),
          },
          {
            head: 'Sent',
            cell: ({ sentAt }) => <time datetime={sentAt}>{relativeText(Date.parse(sentAt), now)}</time>,
          },
          ...COLUMNS,
          {
            head: 'Dead letter',
            cell: ({ id }) => <ShowDeadLetter which={which} id={id} place={place} />,
          },
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
  const { api } = useConsole();
  const [isOpen, setOpen] = useState(false);
  const { action, run } = useAction(() => showDeadLetter(api, which, id));
  return (
    <>
      <WorkButton
        action={action}
        onClick={() => {
          setOpen(true);
          run();
        }}
      >
        Show<span class="unseen"> {id}</span>
      </WorkButton>
      {isOpen && action.state !== 'running' ? (
        <Dialog
          title="Dead letter"
          onClose={() => {
            setOpen(false);
          }}
        >
          <div class="stack">
            <ActionFailure of={action} />
            {action.state === 'done' ? <Whole deadLetter={action.result} place={place} /> : null}
            <form method="dialog" class="actions">
              <button type="submit" class="button">
                Close
              </button>
            </form>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

function Whole({ deadLetter, place }: { deadLetter: DeadLetterDetail; place: string }) {
  const { id, sentAt, attributes, body } = deadLetter;
  return (
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
  );
}
