import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { rotateSecret, type RotatedSecret } from '../../../../cli/api/subscriptions.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Moment } from '../../parts/moment.tsx';
import { Failure, Notice } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/work-button.tsx';

const GRACES = [
  [86_400, '1 day'],
  [3_600, '1 hour'],
  [604_800, '7 days'],
  [0, 'no time: it expires now'],
] as const;

export function RotateSecret({ queue, id }: { queue: string; id: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        Rotate secret
      </button>
      {open ? (
        <Dialog
          title="Rotate secret"
          onClose={() => {
            setOpen(false);
          }}
        >
          <RotateForm queue={queue} id={id} />
        </Dialog>
      ) : null}
    </>
  );
}

function RotateForm({ queue, id }: { queue: string; id: string }): JSX.Element {
  const { api } = useConsole();
  const [grace, setGrace] = useState('86400');
  const { action, run } = useAction(() => rotateSecret(api, queue, id, { graceSeconds: Number(grace) }));
  if (action.state === 'done') return <NewSecret secret={action.result} />;
  return (
    <div class="stack">
      <p>
        Webhooks are signed with the new secret from now on, and also with the old one until it expires. Give
        the new secret to the subscriber in that time.
      </p>
      <p class="muted">
        The new secret is a shared secret (v1). For a key pair (v1a), run “posthaste subscription
        rotate-secret” with --type v1a.
      </p>
      <Field label="Also sign with the old secret for">
        {(parts) => (
          <select
            {...parts}
            value={grace}
            onChange={({ currentTarget }) => {
              setGrace(currentTarget.value);
            }}
          >
            {GRACES.map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {action.state === 'failed' ? <Failure of={action.failure} /> : null}
      <form method="dialog" class="actions">
        <WorkButton action={action} kind="danger" onClick={run}>
          Rotate
        </WorkButton>
        <button type="submit" class="button">
          Cancel
        </button>
      </form>
    </div>
  );
}

/** Shows the new secret, or for a key pair its public key. The page keeps it only while this dialog is open. */
function NewSecret({
  secret: { secret = '', publicKey, previousExpiresAt },
}: {
  secret: RotatedSecret;
}): JSX.Element {
  const what = publicKey === undefined ? 'secret' : 'public key';
  return (
    <div class="stack">
      <Notice tone="success" title={`This is the new ${what}. It is not shown again.`} />
      <p class="command">
        <code class="secret">{publicKey ?? secret}</code>{' '}
        <CopyButton text={publicKey ?? secret} what={`the ${what}`} />
      </p>
      {typeof previousExpiresAt === 'string' ? (
        <p>
          The old secret expires at <Moment at={previousExpiresAt} />.
        </p>
      ) : null}
      <form method="dialog" class="actions">
        <button type="submit" class="button button-primary">
          Done
        </button>
      </form>
    </div>
  );
}
