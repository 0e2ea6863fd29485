import type { JSX } from 'preact';
import { Moment } from './moment.tsx';

/** Describes the window of acceptance times; `otherwise` is shown without one. */
export function WindowText({
  since,
  until,
  otherwise = 'Accepted in the last 24 hours.',
}: {
  since: string | undefined;
  until: string | undefined;
  otherwise?: string;
}): JSX.Element {
  if (since === undefined && until === undefined) return <p class="muted">{otherwise}</p>;
  return (
    <p class="muted">
      Accepted
      {since === undefined ? null : (
        <>
          {' '}
          since <Moment at={since} />
        </>
      )}
      {until === undefined ? null : (
        <>
          {' '}
          before <Moment at={until} />
        </>
      )}
      .
    </p>
  );
}
