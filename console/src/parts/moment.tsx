import type { JSX } from 'preact';
import { clockText, utcText } from './time-text.ts';

/** A time in the time zone of the browser, with UTC as its tooltip. `at`: RFC 3339. */
export function Moment({ at, exact = false }: { at: string; exact?: boolean }): JSX.Element {
  return (
    <time datetime={at} title={utcText(at)}>
      {clockText(Date.parse(at), { now: Date.now(), exact })}
    </time>
  );
}
