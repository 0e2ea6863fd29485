import type { JSX } from 'preact';
import { shortId } from '../../../../api-client/subscription-labels.ts';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import type { DeadLetterLook, DeadLetterView } from '../../../../shared/wire/views/console.ts';
import { useNow } from '../../live/use-now.ts';
import { Table, type Column } from '../../parts/table.tsx';
import { relativeText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import { ShowDeadLetter } from './show-dead-letter.tsx';

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
}): JSX.Element {
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
