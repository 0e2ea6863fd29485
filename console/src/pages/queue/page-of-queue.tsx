import type { ComponentChildren, JSX } from 'preact';
import { isNotFound } from '../../../../api-client/refusal.ts';
import type { Live } from '../../live/use-live.ts';
import { PageHeading } from '../../parts/page-heading.tsx';
import { hrefTo } from '../../route.ts';
import { MissingQueue } from './missing-queue.tsx';

/** A page about one queue, below its heading. `live`: what it shows, which fails where the queue does not exist. */
export function PageOfQueue({
  title,
  queue,
  live,
  children,
}: {
  title: string;
  queue: string;
  live: Pick<Live<unknown>, 'failure' | 'refresh'>;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <>
      <PageHeading
        title={`${title} of ${queue}`}
        crumbs={[{ text: queue, href: hrefTo({ page: 'queue', queue }) }]}
      />
      {isNotFound(live.failure) ? <MissingQueue queue={queue} onCreated={live.refresh} /> : children}
    </>
  );
}
