import { useState } from 'preact/hooks';
import { deliveryPath } from '../../../../api-client/deliveries.ts';
import { type Explained, getSubscription, sendDelivery } from '../../../../api-client/operations.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { useLive } from '../../live/use-live.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionFailure, Notice } from '../../parts/notice.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { WorkButton } from '../../parts/buttons.tsx';
import { hrefTo } from '../../route.ts';

/** What sending would do; undefined where a message cannot be sent. */
const CONSEQUENCES: Partial<Record<Explained['verdict'], string>> = {
  delivered: 'It was delivered already. The subscriber gets it again, with the same webhook-id.',
  filtered: 'The subscription filters this message out. The subscriber gets it this once, and no other.',
  disabled:
    'The subscription was disabled when the message was to be sent. The subscriber gets it like a new one.',
  added_later: 'The subscription is newer than the message. The subscriber gets it like a new one.',
};

type SendTo = { message: { queue: string; messageId: string }; to: Explained; onSent: () => void };

type Asked = SendTo & { consequence: string | undefined };

/** Sends the message to one subscription, after a question; without a button where it cannot be sent. */
export function SendMessage(props: SendTo) {
  const { verdict } = props.to;
  // The verdict changes once the message is sent, while the dialog is still open.
  const [wasDisabled] = useState(verdict === 'disabled');
  const consequence = CONSEQUENCES[verdict];
  return wasDisabled ? (
    <SendOrEnable {...props} consequence={consequence} />
  ) : (
    <SendButton {...props} consequence={consequence} />
  );
}

/** The verdict is about the time of the message; the subscription may be enabled by now. */
function SendOrEnable(props: Asked) {
  const { api } = useConsole();
  const {
    message: { queue },
    to: { subscriptionId: subscription },
  } = props;
  const { value } = useLive(`subscription/${queue}/${subscription}`, () =>
    api.call(getSubscription, { path: { queue, subscription } }),
  );
  if (value === undefined) return null;
  if (value.disabled === undefined) return <SendButton {...props} />;
  return <a href={hrefTo({ page: 'subscription', queue, subscription })}>Enable it to send</a>;
}

function SendButton(props: Asked) {
  const [open, setOpen] = useState(false);
  const { to, consequence } = props;
  return (
    <>
      {consequence === undefined ? null : (
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            setOpen(true);
          }}
        >
          {to.verdict === 'delivered' ? 'Send again' : 'Send'}
          <span class="unseen"> to {receiverText(to)}</span>
        </button>
      )}
      {open ? (
        <Dialog
          title="Send to this subscription"
          onClose={() => {
            setOpen(false);
          }}
        >
          <Question {...props} />
        </Dialog>
      ) : null}
    </>
  );
}

function receiverText({ name, subscriber, subscriptionId }: Explained): string {
  return subscriberText({ ...(name !== undefined && { name }), subscriber: subscriber ?? subscriptionId });
}

function Question({ message: { queue, messageId }, to, onSent, consequence: now }: Asked) {
  const { api } = useConsole();
  const { subscriptionId } = to;
  // The verdict changes once the message is sent; the question does not.
  const [consequence] = useState(now);
  const { action, run } = useAction(async () => {
    await api.call(sendDelivery, deliveryPath({ queue, messageId, subscriptionId }));
    onSent();
  });
  const isSent = action.state === 'done';
  return (
    <div class="stack">
      <p>
        Send the message <span class="id">{messageId}</span> to <span class="url">{receiverText(to)}</span>?
      </p>
      <p>{consequence}</p>
      <ActionFailure of={action} />
      {isSent ? <Notice tone="success" title="Sent" /> : null}
      <form method="dialog" class="actions">
        {isSent ? (
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
          {isSent ? 'Done' : 'Cancel'}
        </button>
      </form>
    </div>
  );
}
