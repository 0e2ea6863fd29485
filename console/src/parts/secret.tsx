import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { rotateSecret } from '../../../api-client/operations.ts';
import { useAction } from '../live/hooks.ts';
import { usePage } from '../live/page-context.tsx';
import { Moment } from './facts.tsx';
import { SelectField } from './fields.tsx';
import { Button, CopyButton, Form, useClose } from './form.tsx';
import { Notice } from './loaded.tsx';

type NewSecretProps = {
  /** Its name in “This is the …”. */
  what: string;
  secret: string;
  /** A public key is, by its JWK set. */
  isShownAgain?: boolean;
  /** By default it closes. */
  onDone?: () => void;
  children?: ComponentChildren;
};

/** Shows a secret, or the public key of a key pair. The page keeps it only while its dialog is open. */
export function NewSecret({ what, secret, isShownAgain = false, onDone, children }: NewSecretProps) {
  const close = useClose();
  return (
    <div class="stack">
      <Notice tone="success" title={`This is the ${what}.${isShownAgain ? '' : ' It is not shown again.'}`} />
      <p class="command">
        <code class="secret">{secret}</code> <CopyButton text={secret} what={`the ${what}`} />
      </p>
      {children}
      <Button kind="primary" onClick={onDone ?? close}>
        Done
      </Button>
    </div>
  );
}

const GRACES = [
  ['86400', '1 day'],
  ['3600', '1 hour'],
  ['604800', '7 days'],
  ['0', 'no time: it expires now'],
] as const;

type RotateSecretProps = {
  queue: string;
  id: string;
  children?: ComponentChildren;
};

/** `children`: a note in the form. */
export function RotateSecret({ queue, id, children }: RotateSecretProps) {
  const { api } = usePage();
  const [grace, setGrace] = useState<string>(GRACES[0][0]);
  const { action, run } = useAction(() =>
    api.call(rotateSecret, { path: { queue, subscription: id }, body: { graceSeconds: Number(grace) } }),
  );
  if (action.state === 'done') {
    const { secret, publicKey, previousExpiresAt } = action.result;
    return (
      <NewSecret
        what={publicKey === undefined ? 'new secret' : 'new public key'}
        secret={publicKey ?? secret ?? ''}
        isShownAgain={publicKey !== undefined}
      >
        {typeof previousExpiresAt === 'string' ? (
          <p>
            The old secret expires at <Moment at={previousExpiresAt} />.
          </p>
        ) : null}
      </NewSecret>
    );
  }
  return (
    <Form action={action} verb="Rotate" kind="danger" onSubmit={run}>
      <p>
        Webhooks are signed with the new secret from now on, and also with the old one until it expires. Give
        the receiver the new secret in that time.
      </p>
      {children}
      <SelectField
        label="Also sign with the old secret for"
        value={grace}
        onValue={setGrace}
        options={GRACES}
      />
    </Form>
  );
}
