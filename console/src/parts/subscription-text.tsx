import type { ComponentChildren } from 'preact';
import { type BackPressure, type PauseView, pressureState } from '../../../api-client/words.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { hrefTo } from '../route.ts';
import { Facts, Moment } from './facts.tsx';
import { Notice } from './loaded.tsx';
import { type ShownState, StatusText } from './status.tsx';

/** Whether a subscription is enabled, unconfirmed, paused, slowed, failing or disabled, and since when. */
export function SubscriptionState({ of }: { of: SubscriptionView }) {
  return <StatusText {...describeState(of)} />;
}

/** The state of a paused queue. */
export function PausedState({ of }: { of: PauseView }) {
  return <StatusText {...describePause(of)} />;
}

function describeState({ disabled, confirmed, paused, backPressure, failing }: SubscriptionView): ShownState {
  if (disabled !== undefined) {
    const reason = (
      <>
        {WORDS[disabled.reason]}, <Moment at={disabled.at} />
      </>
    );
    return { tone: 'cancelled', text: 'disabled', reason };
  }
  if (!confirmed) return { tone: 'pending', text: 'unconfirmed' };
  if (paused !== undefined) return describePause(paused, paused.by === 'queue' ? 'with its queue ' : '');
  if (backPressure !== undefined) {
    const text = pressureState(backPressure);
    return { tone: 'retrying', text, reason: <Since at={backPressure.since} /> };
  }
  if (failing !== undefined)
    return { tone: 'rejected', glyph: 'failed', text: 'failing', reason: <Since at={failing.since} /> };
  return { tone: 'delivered', text: 'enabled' };
}

function describePause({ since, until }: PauseView, whose = ''): ShownState {
  const reason = (
    <>
      {whose}
      {until === undefined ? 'since' : 'until'} <Moment at={until ?? since} />
    </>
  );
  return { tone: 'pending', glyph: 'paused', text: 'paused', reason };
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

type SubscriberFactsProps = {
  of: SubscriptionView;
  /** How many deliveries wait, and why. */
  waiting: ComponentChildren;
  facts: Parameters<typeof Facts>[0]['facts'];
};

/** The URL, the state and further `facts` of a subscription, and why its requests are slowed. */
export function SubscriberFacts({ of, waiting, facts }: SubscriberFactsProps) {
  const { subscriber, paused, failing, previousSecretExpiresAt: previousEnd } = of;
  return (
    <>
      <p class="lead">
        <SubscriberUrl url={subscriber} />
      </p>
      <Facts
        facts={[
          ['State', <SubscriptionState of={of} />],
          ['Paused since', paused && <Moment at={paused.since} />],
          ['Waiting', waiting],
          ['Counted failures in a row', failing?.failures],
          ...facts,
          ['Previous secret signs until', previousEnd && <Moment at={previousEnd} />],
        ]}
      />
      <PressureNotice of={of} />
    </>
  );
}

/** A subscriber's URL, as a link only for http and https. `noopener noreferrer` keeps this page from the target. */
function SubscriberUrl({ url }: { url: string }) {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '') ? (
    <a class="url" href={url} target="_blank" rel="noopener noreferrer">
      {url}
      <span class="unseen"> (opens in another tab)</span>
    </a>
  ) : (
    <span class="url">{url}</span>
  );
}

/** Why its requests are slowed, for a reader who does not know the words of the state. */
function PressureNotice({ of: { backPressure } }: { of: SubscriptionView }) {
  if (backPressure === undefined) return null;
  const { title, detail } = pressureWords(backPressure);
  return (
    <Notice tone="warning" title={title}>
      <p>{detail}</p>
    </Notice>
  );
}

/** What it means that a subscription gets fewer requests than it could. */
export function pressureWords(pressure: BackPressure): { title: string; detail: string } {
  const { perSecond } = pressure;
  const detail = `${paceText(perSecond)} Other deliveries wait, which uses none of their attempts.`;
  switch (pressureState(pressure)) {
    case 'throttled':
      return {
        title: 'The subscriber asked for fewer requests',
        detail: `It answered 429, or 503 with Retry-After. ${detail}`,
      };
    case 'circuit open':
      return { title: 'The circuit is open: the subscriber is down', detail };
    case 'slowed':
      return { title: 'The subscriber was down and answers again', detail };
  }
}

function paceText(perSecond: number | undefined): string {
  return perSecond === undefined
    ? 'It gets one request at a time until it answers.'
    : `It gets at most ${perSecond} requests a second now, and more while it takes them.`;
}
