import { formatSearch } from '../../../../api-client/api-client.ts';
import { useEffect, useState } from 'preact/hooks';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import {
  type DeadLetterCounts,
  deadLetterCountsSchema,
  type DeadLetterLook,
  deadLetterLookSchema,
} from '../../../../shared/wire/views/console.ts';
import { ChangeChosen, DeadLetterTable } from './dead-letter-table.tsx';
import { useConsole } from '../../live/console-context.tsx';
import { loadedBy, useAction } from '../../live/hooks.ts';
import { counted } from '../../../../api-client/words.ts';
import { Loaded, Empty } from '../../parts/loaded.tsx';
import { Moment } from '../../parts/facts.tsx';
import { LinkBar, PageHeading } from '../../parts/page-heading.tsx';
import { Button, submittedTexts, WorkButton } from '../../parts/form.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { Field } from '../../parts/fields.tsx';

/** The name of each queue, and which messages it has. */
const TEXTS: Record<RedrivenQueue, readonly [name: string, meaning: string]> = {
  ingress: ['Ingress', 'Messages of producers that dispatch could not accept.'],
  delivery: ['Delivery', 'Jobs and wake-ups that deliver gave up on.'],
  operation: ['Operation', 'Recoveries and cancellations that operate gave up on.'],
  undeliverable: ['Undeliverable', 'Notices of deliveries that were rejected, or that ran out of retries.'],
};

/** The dead letters of one queue. It looks only when asked to: a look hides the messages from other programs. */
export function DeadLettersPage({ query }: { query: Query }) {
  const { api } = useConsole();
  const which = REDRIVEN_QUEUES.find((queue) => queue === query['which']) ?? 'ingress';
  const { queue, subscription, reason } = query;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const counts = useAction(() => api.local('/dead-letters', deadLetterCountsSchema));
  // A look gets up to 100 dead letters.
  const search = formatSearch({ queue, subscription, reason });
  const look = useAction(() => api.local(`/dead-letters/${which}`, deadLetterLookSchema, { search }));
  const lookAgain = (): void => {
    setChosen(new Set());
    counts.run();
    look.run();
  };
  // The page is mounted anew for another queue or filter.
  useEffect(lookAgain, []);
  return (
    <>
      <PageHeading title="Dead letters">
        <WorkButton action={look.action} onClick={lookAgain}>
          Look again
        </WorkButton>
      </PageHeading>
      <LinkBar
        kind="choices-bar"
        label="Queue of the dead letters"
        links={REDRIVEN_QUEUES.map((one) => [
          `${TEXTS[one][0]} ${counts.action.state === 'done' ? countText(counts.action.result, one) : ''}`,
          hrefTo({ page: 'dead-letters', query: { which: one } }),
          one === which,
        ])}
      />
      <p class="muted">
        {TEXTS[which][1]} A look receives the messages, so that other programs do not see them for a moment.
      </p>
      <FilterForm which={which} query={query} />
      <div class="section">
        <Loaded live={loadedBy(look.action)} lines={8}>
          {(found) => (
            <>
              <p class="muted">In {found.place}.</p>
              {found.deadLetters.length === 0 ? (
                <Empty title={emptyTitle(found, [queue, subscription, reason])}>
                  <Unseen look={found} />
                </Empty>
              ) : (
                <>
                  <Unseen look={found} />
                  <DeadLetterTable which={which} look={found} chosen={chosen} onChosen={setChosen} />
                  <ChangeChosen which={which} place={found.place} chosen={chosen} onDone={lookAgain} />
                </>
              )}
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

function emptyTitle({ hidden }: DeadLetterLook, filter: readonly (string | undefined)[]): string {
  if (hidden > 0) return 'No dead letter is visible';
  return filter.some((text) => text !== undefined) ? 'None matches' : 'No dead letters';
}

function countText({ queues }: DeadLetterCounts, which: RedrivenQueue): string {
  const { visible, hidden } = queues.find((one) => one.which === which) ?? { visible: 0, hidden: 0 };
  return (visible + hidden).toLocaleString('en');
}

/** What a look does not show. */
function Unseen({ look }: { look: DeadLetterLook }) {
  const { deadLetters, total, complete, hidden, hiddenUntil, statesProblem } = look;
  return (
    <>
      {complete ? null : (
        <p>
          Showing {deadLetters.length} of about {counted(total, 'message', 'messages')}.
        </p>
      )}
      {hiddenUntil === undefined ? null : (
        <p>
          About {counted(hidden, 'message is', 'messages are')} hidden by another look until{' '}
          <Moment at={hiddenUntil} /> at the latest. Look again then.
        </p>
      )}
      {statesProblem === undefined ? null : (
        <p>What became of the deliveries could not be read: {statesProblem}</p>
      )}
    </>
  );
}

const FIELDS = [
  ['reason', 'Reason'],
  ['queue', 'Queue'],
  ['subscription', 'Subscription id'],
] as const;

/** The filter of a look. It is part of the address. */
function FilterForm({ which, query }: { which: RedrivenQueue; query: Query }) {
  return (
    <form
      class="window-fields"
      onSubmit={(event) => {
        location.hash = hrefTo({ page: 'dead-letters', query: { which, ...submittedTexts(event) } });
      }}
    >
      {FIELDS.map(([name, label]) => (
        <Field key={name} label={label}>
          {(parts) => (
            <input {...parts} name={name} defaultValue={query[name]} autocomplete="off" spellcheck={false} />
          )}
        </Field>
      ))}
      <div class="actions">
        <Button type="submit">Filter</Button>
      </div>
    </form>
  );
}
