import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLive } from '../../../console/src/live/use-live.ts';
import { TypeDescription, TypeName } from '../../../console/src/parts/event-type.tsx';
import { Empty, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading, Section } from '../../../console/src/parts/page-heading.tsx';
import { groupTypes, readCatalogue } from '../event-types.ts';
import { usePortal } from '../portal-context.tsx';

/** The events that endpoints can get. */
export function EventTypesPage() {
  const { api } = usePage();
  const portal = usePortal();
  const catalogue = useLive('catalogue', () => readCatalogue(api, portal, true), { once: true });
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
                  <div key={type.name} class="type">
                    <p>
                      <TypeName of={type} />
                    </p>
                    <TypeDescription of={type} />
                  </div>
                ))}
              </Section>
            ))
          )
        }
      </Loaded>
    </>
  );
}
