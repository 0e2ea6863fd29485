import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from '../../parts/buttons.tsx';
import { Notice } from '../../parts/notice.tsx';

/** Shows a secret, or the public key of a key pair. The page keeps it only while its dialog is open. */
export function NewSecret({
  what,
  secret,
  onDone,
  children,
}: {
  /** Its name in “This is the …”. */
  what: string;
  secret: string;
  onDone: () => void;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="stack">
      <Notice tone="success" title={`This is the ${what}. It is not shown again.`} />
      <p class="command">
        <code class="secret">{secret}</code> <CopyButton text={secret} what={`the ${what}`} />
      </p>
      {children}
      <div class="actions">
        <button type="button" class="button button-primary" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}
