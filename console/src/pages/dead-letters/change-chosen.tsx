import { useState } from 'preact/hooks';
import type { RedrivenQueue } from '../../../../shared/domain/work-queues.ts';
import type { DeadLetterResult } from '../../../../shared/wire/views/console.ts';
import { changeDeadLetters, type DeadLetterChange } from '../../api/dead-letters.ts';
import { useConsole } from '../../live/console-context.tsx';
import { type Action, useAction } from '../../live/use-action.ts';
import { counted } from '../../../../api-client/words.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionFailure, Notice } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/buttons.tsx';

const CHANGES = {
  redrive: {
    verb: 'Redrive',
    past: 'redriven',
    effect: 'They are sent back to their queue. Undeliverable deliveries get another round of attempts.',
  },
  delete: { verb: 'Delete', past: 'deleted', effect: 'They cannot be restored.' },
} as const;

/** Redrives or deletes the chosen dead letters, after a question. */
export function ChangeChosen({
  which,
  place,
  chosen,
  onDone,
}: {
  which: RedrivenQueue;
  place: string;
  chosen: ReadonlySet<string>;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const [asked, setAsked] = useState<DeadLetterChange>();
  const work = useAction((change: DeadLetterChange) => changeDeadLetters(api, which, change, [...chosen]));
  if (chosen.size === 0) return <p class="muted">Select dead letters to redrive or delete them.</p>;
  return (
    <div class="actions">
      {(['redrive', 'delete'] as const).map((change) => (
        <button
          key={change}
          type="button"
          class={change === 'delete' ? 'button button-danger' : 'button button-primary'}
          onClick={() => {
            work.reset();
            setAsked(change);
          }}
        >
          {CHANGES[change].verb} {counted(chosen.size, 'dead letter', 'dead letters')}
        </button>
      ))}
      {asked === undefined ? null : (
        <Dialog
          title={`${CHANGES[asked].verb} ${counted(chosen.size, 'dead letter', 'dead letters')}`}
          onClose={() => {
            setAsked(undefined);
            if (work.action.state === 'done') onDone();
          }}
        >
          <Question change={asked} place={place} {...work} />
        </Dialog>
      )}
    </div>
  );
}

function Question({
  change,
  place,
  action,
  run,
}: {
  change: DeadLetterChange;
  place: string;
  action: Action<DeadLetterResult>;
  run: (change: DeadLetterChange) => void;
}) {
  const { verb, past, effect } = CHANGES[change];
  const isDone = action.state === 'done';
  return (
    <div class="stack">
      <p>In {place}.</p>
      {isDone ? <Notice tone="success" title={resultText(action.result, past)} /> : <p>{effect}</p>}
      <ActionFailure of={action} />
      <form method="dialog" class="actions">
        {isDone ? null : (
          <WorkButton
            action={action}
            kind={change === 'delete' ? 'danger' : 'primary'}
            onClick={() => {
              run(change);
            }}
          >
            {verb}
          </WorkButton>
        )}
        <button type="submit" class="button">
          {isDone ? 'Done' : 'Cancel'}
        </button>
      </form>
    </div>
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
  const sum = entries.reduce((total, [, count]) => total + count, 0);
  return [`${sum} ${word} (${entries.map(([reason, count]) => `${reason} ${count}`).join(', ')})`];
}
