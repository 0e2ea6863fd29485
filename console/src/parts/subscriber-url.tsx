import type { JSX } from 'preact';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';

/** A subscription in a list of choices: its URL, after its name if it has one. */
export function subscriberText({ name, subscriber }: Pick<SubscriptionView, 'name' | 'subscriber'>): string {
  return name === undefined ? subscriber : `${name} · ${subscriber}`;
}

/** A subscriber's URL, as a link only for http and https. `noopener noreferrer` keeps this page from the target. */
export function SubscriberUrl({ url }: { url: string }): JSX.Element {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '') ? (
    <a class="url" href={url} target="_blank" rel="noopener noreferrer">
      {url}
      <span class="unseen"> (opens in another tab)</span>
    </a>
  ) : (
    <span class="url">{url}</span>
  );
}
