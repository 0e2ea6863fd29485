import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Listed } from '../../../../api-client/api-client.ts';
import { deliveryPath } from '../../../../api-client/deliveries.ts';
import { dataIn, type MessageView, showMessage } from '../../../../api-client/messages.ts';
import {
  type Explained,
  explainMessage,
  getSubscription,
  sendDelivery,
} from '../../../../api-client/operations.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { counted, noneLeftText, withTimes } from '../../../../api-client/words.ts';
import { STATUSES, toRecord } from '../../../../shared/domain/delivery/vocabulary.ts';
import { type DeliveryView, WAITS } from '../../../../shared/wire/views/delivery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useLive, useLiveCall } from '../../live/use-live.ts';
import { nextAttempt } from '../../parts/delivery-columns.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts, Moment } from '../../parts/facts.tsx';
import { CloseButton, Form, SmallButton } from '../../parts/form.tsx';
import { Loaded, WhyMissing, Empty, Notice } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading, Section } from '../../parts/page-heading.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { lastResponse, StatusText } from '../../parts/status.tsx';
import { subscriberText, SubscriptionLink } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { momentText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

const MOST = 100;

export function MessagePage({ queue, id }: { queue: string; id: string }) {
  const { api } = useConsole();
  const message = useLive(
    `message/${queue}/${id}`,
    async () => {
      const shown = await showMessage(api, queue, id);
      return { view: shown.view, data: dataIn(shown) };
    },
    // It may still be in the ingress queue.
    { untilFound: true },
  );
  const isMissing = isNotFound(message.failure);
  const explained = useLive(`explained/${queue}/${id}/${String(isMissing)}`, () =>
    api.items(explainMessage, { path: { queue, message: id }, most: MOST }),
  );
  return (
    <>
      <PageHeading title={id} kind="Message" crumbs={[crumbTo(queue)]} />
      <Loaded live={message}>
        {({ view, data }) => (
          <>
            <MessageFacts view={view} />
            <Section title="Subscriptions">
              <Loaded live={explained}>
                {(listed) => (
                  <MessageSubscriptions
                    message={{ queue, messageId: id, matched: view.matched }}
                    listed={listed}
                    onSent={explained.refresh}
                  />
                )}
              </Loaded>
            </Section>
            <Section title="Data">
              {data === undefined ? (
                <NoData erased={view.erasedAt !== undefined} />
              ) : (
                <SourceText text={data} what="the data" />
              )}
            </Section>
          </>
        )}
      </Loaded>
      {isMissing ? (
        <>
          <WhyMissing />
          <p>To look for it in all queues, press / and enter its id.</p>
        </>
      ) : null}
    </>
  );
}

function MessageFacts({ view }: { view: MessageView }) {
  return (
    <Facts
      facts={[
        ['Type', view.type],
        ['Accepted', <Moment at={view.acceptedAt} exact />],
        [
          'Matched',
          `${counted(view.matched, 'subscription', 'subscriptions')}${view.unfinished === true ? ' so far' : ''}`,
        ],
        [
          'Filtered',
          view.filtered === 0 ? undefined : `by ${counted(view.filtered, 'subscription', 'subscriptions')}`,
        ],
        ['Duplicates', view.duplicates === 0 ? undefined : view.duplicates.toLocaleString('en')],
        ['Event fault', view.eventFault === undefined ? undefined : <EventFault of={view.eventFault} />],
        ['Erased', view.erasedAt === undefined ? undefined : <Moment at={view.erasedAt} />],
      ]}
    />
  );
}

function EventFault({ of: { reason, path = '', detail } }: { of: NonNullable<MessageView['eventFault']> }) {
  if (reason === 'unknown_event_type') return <>not in the catalogue of the queue</>;
  return (
    <>
      {path === '' ? 'the data' : <code>{path}</code>} {detail}
    </>
  );
}

function NoData({ erased }: { erased: boolean }) {
  return erased ? (
    <Empty title="The data was erased" />
  ) : (
    <Empty title="The data is not stored">
      <p>
        Data is stored from the first failure on, and where the queue has no subscription. With "all" as
        _retain_messages of the queue, or as the setting retainMessages, it is stored for every message.
      </p>
    </Empty>
  );
}

/** What became of a message for each subscription of its queue. */
function MessageSubscriptions({
  message: { queue, messageId, matched },
  listed,
  onSent,
}: {
  message: { queue: string; messageId: string; matched: number };
  listed: Listed<Explained>;
  onSent: () => void;
}) {
  const columns: readonly Column<Explained>[] = [
    {
      head: 'Subscription',
      wide: true,
      cell: ({ subscriptionId, name, subscriber }) => (
        <SubscriptionLink queue={queue} id={subscriptionId} name={name} subscriber={subscriber} />
      ),
    },
    { head: 'Result', wide: true, cell: (explained) => <Verdict of={explained} /> },
    {
      head: 'Attempts',
      numeric: true,
      cell: ({ subscriptionId, delivery }) =>
        delivery === undefined ? (
          ''
        ) : (
          <a
            href={hrefTo({ page: 'delivery', queue, messageId, subscriptionId })}
            aria-label={`${delivery.attemptCount}, show the delivery to ${subscriptionId}`}
          >
            {delivery.attemptCount}
          </a>
        ),
    },
    { head: 'Last response', cell: ({ delivery }) => lastResponse(delivery) },
    {
      head: 'Next attempt',
      cell: ({ delivery }) => delivery && nextAttempt(delivery),
    },
    {
      head: 'Action',
      cell: (explained) => <SendMessage message={{ queue, messageId }} to={explained} onSent={onSent} />,
    },
  ];
  return (
    <>
      <Table
        caption="What became of this message for each subscription"
        columns={columns}
        rows={listed.items}
        keyOf={({ subscriptionId }) => subscriptionId}
        empty={<Empty title={noneLeftText(matched)} />}
      />
      {listed.more ? <p class="muted">Only the first {listed.items.length} are shown.</p> : null}
    </>
  );
}

/** The delivery status that each verdict looks like. */
const LOOKS: Record<Explained['verdict'], DeliveryView['status']> = {
  ...toRecord(STATUSES, (status) => status),
  rate_limited: 'pending',
  receiver_throttled: 'pending',
  circuit_open: 'pending',
  paused: 'pending',
  filtered: 'cancelled',
  unconfirmed: 'cancelled',
  disabled: 'cancelled',
  expired: 'cancelled',
  added_later: 'cancelled',
  not_sent_yet: 'pending',
  deleted: 'cancelled',
};

/** What became of a message for one subscription, and why. */
function Verdict({ of }: { of: Explained }) {
  const { verdict, certain, detail } = of;
  const text = `${certain ? '' : 'probably '}${verdict.replaceAll('_', ' ')}`;
  return (
    <>
      <StatusText tone={LOOKS[verdict]} text={text} reason={reasonText(of)} />
      {detail === undefined ? null : <span class="sub">{withTimes(detail, momentText)}</span>}
    </>
  );
}

function reasonText(of: Explained): string | undefined {
  const { verdict, delivery: { waiting, reason } = {} } = of;
  // The detail says whose pause it is.
  if (waiting === 'paused') return undefined;
  if (waiting !== undefined) return `waits ${WAITS[waiting]}`;
  return ruleText(of) ?? (reason === verdict ? undefined : reason?.replaceAll('_', ' '));
}

/** Which option excluded the message. */
function ruleText({ rule }: Explained): string | undefined {
  if (rule === undefined) return undefined;
  const where = rule.path === undefined ? '' : `, first at ${rule.path}`;
  return rule.by === 'event_types' ? 'by its event types' : `by its filter${where}`;
}

/** What sending would do; undefined where a message cannot be sent. */
const CONSEQUENCES: Partial<Record<Explained['verdict'], string>> = {
  delivered: 'It was delivered already. The subscriber gets it again, with the same webhook-id.',
  rejected: 'The subscriber refused it. The subscriber gets it again, with the same webhook-id.',
  exhausted: 'No attempt succeeded. The retry policy begins anew, with the same webhook-id.',
  filtered: 'The subscription filters this message out. The subscriber gets it this once, and no other.',
  disabled:
    'The subscription was disabled when the message was to be sent. The subscriber gets it like a new one.',
  added_later: 'The message went to an earlier list of subscriptions. The subscriber gets it like a new one.',
};

const SENT_BEFORE: readonly Explained['verdict'][] = ['delivered', 'rejected', 'exhausted'];

type SendTo = { message: { queue: string; messageId: string }; to: Explained; onSent: () => void };

/** Sends the message to one subscription, after a question; without a button where it cannot be sent. */
function SendMessage(props: SendTo) {
  const { message, to } = props;
  // The verdict changes once the message is sent, while the dialog is still open.
  const [asked, setAsked] = useState<string>();
  const consequence = CONSEQUENCES[to.verdict];
  const button =
    consequence === undefined ? null : (
      <SmallButton onClick={() => setAsked(consequence)}>
        {SENT_BEFORE.includes(to.verdict) ? 'Send again' : 'Send'}
        <span class="unseen"> to {receiverText(to)}</span>
      </SmallButton>
    );
  return (
    <>
      {to.verdict === 'disabled' ? (
        <IfEnabled queue={message.queue} subscription={to.subscriptionId}>
          {button}
        </IfEnabled>
      ) : (
        button
      )}
      {asked === undefined ? null : (
        <Dialog title="Send to this subscription" onClose={() => setAsked(undefined)}>
          <Question {...props} consequence={asked} />
        </Dialog>
      )}
    </>
  );
}

type IfEnabledProps = {
  queue: string;
  subscription: string;
  children: ComponentChildren;
};

/** The verdict is about the time of the message; the subscription may be enabled by now. */
function IfEnabled({ queue, subscription, children }: IfEnabledProps) {
  const { value } = useLiveCall(getSubscription, { path: { queue, subscription } });
  if (value === undefined) return null;
  if (value.disabled === undefined) return children;
  return <a href={hrefTo({ page: 'subscription', queue, subscription })}>Enable it to send</a>;
}

function receiverText({ name, subscriber, subscriptionId }: Explained): string {
  return subscriberText({ ...(name !== undefined && { name }), subscriber: subscriber ?? subscriptionId });
}

function Question({
  message: { queue, messageId },
  to,
  onSent,
  consequence,
}: SendTo & { consequence: string }) {
  const { api } = useConsole();
  const { subscriptionId } = to;
  const address = { queue, messageId, subscriptionId };
  const { action, run } = useAction(() => api.call(sendDelivery, deliveryPath(address)).then(onSent));
  const question = (
    <>
      <p>
        Send the message <span class="id">{messageId}</span> to <span class="url">{receiverText(to)}</span>?
      </p>
      <p>{consequence}</p>
    </>
  );
  return action.state === 'done' ? (
    <div class="stack">
      {question}
      <Notice tone="success" title="Sent" />
      <div class="actions">
        <a class="button" href={hrefTo({ page: 'delivery', ...address })}>
          Show the delivery
        </a>
        <CloseButton>Done</CloseButton>
      </div>
    </div>
  ) : (
    <Form action={action} verb="Send" onSubmit={run}>
      {question}
    </Form>
  );
}
