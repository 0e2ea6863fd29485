import type { ComponentChildren } from 'preact';
import { type PauseView, pressureState } from '../../../api-client/words.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { hrefTo } from '../route.ts';
import { Moment } from './facts.tsx';
import { Glyph, type ShownStatus } from './status.tsx';

type State = { tone: string; glyph: ShownStatus; text: string; detail?: ComponentChildren };

/** Whether a subscription is enabled, unconfirmed, paused, slowed, failing or disabled, and since when. */
export function SubscriptionState({ of }: { of: SubscriptionView }) {
  return <StateText {...describeState(of)} />;
}

/** The state of a paused queue. */
export function PausedState({ of }: { of: PauseView }) {
  return <StateText {...describePause(of)} />;
}

function StateText({ tone, glyph, text, detail }: State) {
  return (
    <span class={`status tone-${tone}`}>
      <Glyph of={glyph} />
      <span>{text}</span>
      {detail === undefined ? null : <span class="status-reason">{detail}</span>}
    </span>
  );
}

function describeState({ disabled, confirmed, paused, backPressure, failing }: SubscriptionView): State {
  if (disabled !== undefined) {
    const detail = (
      <>
        {WORDS[disabled.reason]}, <Moment at={disabled.at} />
      </>
    );
    return { tone: 'cancelled', glyph: 'cancelled', text: 'disabled', detail };
  }
  if (!confirmed) return { tone: 'pending', glyph: 'pending', text: 'unconfirmed' };
  if (paused !== undefined) return describePause(paused, paused.by === 'queue' ? 'with its queue ' : '');
  if (backPressure !== undefined) {
    const text = pressureState(backPressure);
    return { tone: 'retrying', glyph: 'retrying', text, detail: <Since at={backPressure.since} /> };
  }
  if (failing !== undefined)
    return { tone: 'rejected', glyph: 'failed', text: 'failing', detail: <Since at={failing.since} /> };
  return { tone: 'delivered', glyph: 'delivered', text: 'enabled' };
}

function describePause({ since, until }: PauseView, whose = ''): State {
  const detail = (
    <>
      {whose}
      {until === undefined ? 'since' : 'until'} <Moment at={until ?? since} />
    </>
  );
  return { tone: 'pending', glyph: 'paused', text: 'paused', detail };
}

function Since({ at }: { at: string }) {
  return (
    <>
      since <Moment at={at} />
    </>
  );
}

const WORDS = {
  manual: 'manually',
  gone: 'it responded with 410',
  disable_requested: 'it asked for no more messages',
  failing: 'after days of failures',
} as const;

/** A subscription in a list of choices: its URL, after its name if it has one. */
export function subscriberText({ name, subscriber }: Pick<SubscriptionView, 'name' | 'subscriber'>): string {
  return name === undefined ? subscriber : `${name} · ${subscriber}`;
}

/** A subscription in a table: a link with its name or URL, and the URL and the id below. */
export function SubscriptionLink({ queue, id, name, subscriber }: Linked) {
  const text = name ?? subscriber;
  return (
    <>
      <a class="url strong" href={hrefTo({ page: 'subscription', queue, subscription: id })}>
        {text ?? id}
      </a>
      {name === undefined || subscriber === undefined ? null : <span class="sub url">{subscriber}</span>}
      {text === undefined ? null : <span class="sub id">{id}</span>}
    </>
  );
}

type Linked = { queue: string; id: string; name?: string | undefined; subscriber?: string | undefined };

/** A subscriber's URL, as a link only for http and https. `noopener noreferrer` keeps this page from the target. */
export function SubscriberUrl({ url }: { url: string }) {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '') ? (
    <a class="url" href={url} target="_blank" rel="noopener noreferrer">
      {url}
      <span class="unseen"> (opens in another tab)</span>
    </a>
  ) : (
    <span class="url">{url}</span>
  );
}
