import type { JSX } from 'preact';
import { type DeliveryView, WAITS } from '../../../../shared/wire/views/delivery.ts';
import type { Explained } from '../../../../api-client/operations.ts';
import { Glyph } from '../../parts/status.tsx';

/** The delivery status that each verdict looks like. */
const LOOKS: Record<Explained['verdict'], DeliveryView['status']> = {
  delivered: 'delivered',
  retrying: 'retrying',
  pending: 'pending',
  rejected: 'rejected',
  exhausted: 'exhausted',
  cancelled: 'cancelled',
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
export function Verdict({ of }: { of: Explained }): JSX.Element {
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
