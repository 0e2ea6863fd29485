import { STATUSES, toRecord } from '../../../../shared/domain/delivery/vocabulary.ts';
import type { Listed } from '../../../../api-client/api-client.ts';
import type { Explained } from '../../../../api-client/operations.ts';
import { noneLeftText } from '../../../../api-client/words.ts';
import { Moment } from '../../parts/facts.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { hrefTo } from '../../route.ts';
import { SendMessage } from './send-message.tsx';
import { type DeliveryView, WAITS } from '../../../../shared/wire/views/delivery.ts';
import { Glyph } from '../../parts/status.tsx';

/** What became of a message for each subscription of its queue. */
export function MessageSubscriptions({
  message: { queue, messageId, matched },
  listed,
  onSent,
}: {
  message: { queue: string; messageId: string; matched: number };
  listed: Listed<Explained>;
  onSent: () => void;
}) {
  if (listed.items.length === 0) return <Empty title={noneLeftText(matched)} />;
  const columns: readonly Column<Explained>[] = [
    {
      head: 'Subscription',
      wide: true,
      cell: ({ subscriptionId, name, subscriber }) => (
        <>
          <a class="url strong" href={hrefTo({ page: 'subscription', queue, subscription: subscriptionId })}>
            {name ?? subscriber ?? subscriptionId}
          </a>
          {name === undefined || subscriber === undefined ? null : <span class="sub url">{subscriber}</span>}
          {name === undefined && subscriber === undefined ? null : (
            <span class="sub id">{subscriptionId}</span>
          )}
        </>
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
            href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}
            aria-label={`${delivery.attemptCount}, show the delivery to ${subscriptionId}`}
          >
            {delivery.attemptCount}
          </a>
        ),
    },
    {
      head: 'Last response',
      cell: ({ delivery }) => delivery?.lastAttempt?.statusCode ?? delivery?.lastAttempt?.error ?? '',
    },
    {
      head: 'Next attempt',
      cell: ({ delivery }) =>
        delivery?.nextAttemptAt === undefined ? '' : <Moment at={delivery.nextAttemptAt} />,
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
  filtered: 'cancelled',
  unconfirmed: 'cancelled',
  disabled: 'cancelled',
  expired: 'cancelled',
  added_later: 'cancelled',
  not_sent_yet: 'pending',
  deleted: 'cancelled',
};

/** What became of a message for one subscription, and why. */
export function Verdict({ of }: { of: Explained }) {
  const { verdict, certain, detail } = of;
  const look = LOOKS[verdict];
  return (
    <>
      <span class={`status tone-${look}`}>
        <Glyph of={look} />
        <span>
          {certain ? '' : 'probably '}
          {verdict.replaceAll('_', ' ')}
        </span>
        <span class="status-reason">{reasonText(of)}</span>
      </span>
      {detail === undefined ? null : <span class="sub">{detail}</span>}
    </>
  );
}

function reasonText(of: Explained): string | undefined {
  const { verdict, delivery: { waiting, reason } = {} } = of;
  if (waiting !== undefined) return `waits ${WAITS[waiting]}`;
  return ruleText(of) ?? (reason === verdict ? undefined : reason?.replaceAll('_', ' '));
}

/** Which option excluded the message. */
function ruleText({ rule }: Explained): string | undefined {
  if (rule === undefined) return undefined;
  const where = rule.path === undefined ? '' : `, first at ${rule.path}`;
  return rule.by === 'event_types' ? 'by its event types' : `by its filter${where}`;
}
