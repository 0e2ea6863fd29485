import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import type { DeadLetterDetail } from '../../../../shared/wire/views/console.ts';
import { showDeadLetter } from '../../api/dead-letters.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Moment } from '../../parts/moment.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { WorkButton } from '../../parts/buttons.tsx';

/** A button that shows the whole dead letter. */
export function ShowDeadLetter({
  which,
  id,
  place,
}: {
  which: RedrivenQueue;
  id: string;
  place: string;
}): JSX.Element {
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

function Whole({ deadLetter, place }: { deadLetter: DeadLetterDetail; place: string }): JSX.Element {
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
