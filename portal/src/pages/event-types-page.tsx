import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLive } from '../../../console/src/live/use-live.ts';
import { Empty, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading, Section } from '../../../console/src/parts/page-heading.tsx';
import { SourceText } from '../../../console/src/parts/source-text.tsx';
import { type EventType, groupTypes, readCatalogue } from '../event-types.ts';
import { usePortal } from '../portal-context.tsx';

/** The events that endpoints can get. */
export function EventTypesPage() {
  const { api } = usePage();
  const portal = usePortal();
  const catalogue = useLive('catalogue', () => readCatalogue(api, portal, true));
  return (
    <>
      <PageHeading title="Events" />
      <Loaded live={catalogue} lines={8}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No events are described yet" />
          ) : (
            groupTypes(all).map(([group, types]) => (
              <Section key={group} title={group ?? 'Events'}>
                {types.map((type) => (
                  <Description key={type.name} of={type} />
                ))}
              </Section>
            ))
          )
        }
      </Loaded>
    </>
  );
}

function Description({ of }: { of: EventType }) {
  const { description, example, schema } = of;
  return (
    <div class="type">
      <p>
        <TypeName of={of} />
      </p>
      {description === undefined ? null : <p>{description}</p>}
      <Source title="Example" what={`the example of ${of.name}`} value={example} />
      <Source title="Schema" what={`the schema of ${of.name}`} value={schema} />
    </div>
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

/** Its name, marked where it is deprecated. */
export function TypeName({ of: { name, deprecated } }: { of: EventType }) {
  return (
    <>
      <code class="strong">{name}</code>
      {deprecated === true ? <span class="badge">deprecated</span> : null}
    </>
  );
}
