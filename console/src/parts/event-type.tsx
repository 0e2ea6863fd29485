import type { EventTypeView } from '../../../shared/wire/views/event-type.ts';
import { SourceText } from './source-text.tsx';

/** A type that is not in the catalogue has a name only. */
export type EventType = Pick<EventTypeView, 'name'> & Partial<EventTypeView>;

/** Its name, marked where it is deprecated. */
export function TypeName({ of: { name, deprecated } }: { of: EventType }) {
  return (
    <>
      <code class="strong">{name}</code>
      {deprecated === true ? <span class="badge">deprecated</span> : null}
    </>
  );
}

/** What is in its messages. */
export function TypeDescription({ of: { name, description, example, schema } }: { of: EventType }) {
  return (
    <>
      {description === undefined ? null : <p>{description}</p>}
      <Source title="Example" what={`the example of ${name}`} value={example} />
      <Source title="Schema" what={`the schema of ${name}`} value={schema} />
    </>
  );
}

function Source({ title, what, value }: { title: string; what: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <details>
      <summary>{title}</summary>
      <SourceText text={JSON.stringify(value, null, 2)} what={what} />
    </details>
  );
}
