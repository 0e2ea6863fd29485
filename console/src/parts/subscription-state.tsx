import type { JSX } from 'preact';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { Moment } from './moment.tsx';
import { Glyph } from './status.tsx';

/** Whether a subscription is enabled, unconfirmed, slowed, failing or disabled, and since when. */
export function SubscriptionState({ of }: { of: SubscriptionView }): JSX.Element {
  const { disabled, failing, confirmed, backPressure } = of;
  if (disabled !== undefined) {
    return (
      <span class="status tone-cancelled">
        <Glyph of="cancelled" />
        <span>disabled</span>
        <span class="status-reason">
          {WORDS[disabled.reason]}, <Moment at={disabled.at} />
        </span>
      </span>
    );
  }
  if (!confirmed) {
    return (
      <span class="status tone-pending">
        <Glyph of="pending" />
        <span>unconfirmed</span>
      </span>
    );
  }
  if (backPressure !== undefined) {
    return (
      <span class="status tone-retrying">
        <Glyph of="retrying" />
        <span>{PRESSURES[backPressure.reason]}</span>
        <span class="status-reason">
          since <Moment at={backPressure.since} />
        </span>
      </span>
    );
  }
  if (failing !== undefined) {
    return (
      <span class="status tone-rejected">
        <Glyph of="failed" />
        <span>failing</span>
        <span class="status-reason">
          since <Moment at={failing.since} />
        </span>
      </span>
    );
  }
  return (
    <span class="status tone-delivered">
      <Glyph of="delivered" />
      <span>enabled</span>
    </span>
  );
}

const PRESSURES: Record<NonNullable<SubscriptionView['backPressure']>['reason'], string> = {
  receiver_throttled: 'throttled',
  circuit_open: 'circuit open',
};

const WORDS = {
  manual: 'manually',
  gone: 'it responded with 410',
  disable_requested: 'it asked for no more messages',
  failing: 'after days of failures',
} as const;
