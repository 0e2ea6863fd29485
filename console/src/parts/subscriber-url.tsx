import type { JSX } from 'preact';

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
