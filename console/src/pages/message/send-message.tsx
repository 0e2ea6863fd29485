import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { sendDelivery, type Explained } from '../../../../cli/api/explain.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Failure, Notice } from '../../parts/notice.tsx';
import { subscriberText } from '../../parts/subscriber-url.tsx';
import { WorkButton } from '../../parts/work-button.tsx';
import { hrefTo } from '../../route.ts';

/** What sending would do; undefined where a message cannot be sent. */
const CONSEQUENCES: Partial<Record<Explained['verdict'], string>> = {
  delivered: 'It was delivered already. The subscriber gets it again, with the same webhook-id.',
  filtered: 'The subscription filters this message out. The subscriber gets it this once, and no other.',
  added_later: 'The subscription is newer than the message. The subscriber gets it like a new one.',
};

export function canBeSent({ verdict }: Explained): boolean {
  return CONSEQUENCES[verdict] !== undefined;
}

/** Sends the message to one subscription, after a question. */
export function SendMessage({
  address: { queue, messageId },
  to,
  onSent,
}: {
  address: { queue: string; messageId: string };
  to: Explained;
  onSent: () => void;
}): JSX.Element {
  const { api } = useConsole();
  const [open, setOpen] = useState(false);
  const { subscriptionId, name, subscriber = subscriptionId, verdict } = to;
  const { action, run, reset } = useAction(async () => {
    await sendDelivery(api, { queue, messageId, subscriptionId });
    onSent();
  });
  return (
    <>
      <button
        type="button"
        class="button button-small"
        onClick={() => {
          reset();
          setOpen(true);
        }}
      >
        {verdict === 'delivered' ? 'Send again' : 'Send'}
        <span class="unseen"> to {name ?? subscriber}</span>
      </button>
      {open ? (
        <Dialog
          title="Send to this subscription"
          onClose={() => {
            setOpen(false);
          }}
        >
          <div class="stack">
            <p>
              Send the message <span class="id">{messageId}</span> to{' '}
              <span class="url">{subscriberText({ ...(name !== undefined && { name }), subscriber })}</span>?
            </p>
            <p>{CONSEQUENCES[verdict]}</p>
            {action.state === 'failed' ? <Failure of={action.failure} /> : null}
            {action.state === 'done' ? <Notice tone="success" title="Sent" /> : null}
            <form method="dialog" class="actions">
              {action.state === 'done' ? (
                <a
                  class="button"
                  href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}
                >
                  Show the delivery
                </a>
              ) : (
                <WorkButton action={action} kind="primary" onClick={run}>
                  Send
                </WorkButton>
              )}
              <button type="submit" class="button">
                {action.state === 'done' ? 'Done' : 'Cancel'}
              </button>
            </form>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
