import type { ApiClient } from '../../api-client/api-client.ts';
import { listEventTypesOfQueue } from '../../api-client/operations.ts';
import type { EventType } from '../../console/src/parts/event-type.tsx';

/** The event types in the order of their names. */
export type Catalogue = readonly EventType[];

/** `allowed`: the types that endpoints may choose; undefined: all. `detailed`: with schemas and examples. */
export async function readCatalogue(
  api: ApiClient,
  { queue, event_types: allowed }: { queue: string; event_types?: readonly string[] },
  detailed: boolean,
): Promise<Catalogue> {
  const { items } = await api.items(listEventTypesOfQueue, { path: { queue }, query: { detailed } });
  return allowed?.map((name) => items.find((type) => type.name === name) ?? { name }) ?? items;
}

/** A group without a name is last. */
export function groupTypes(types: readonly EventType[]): [group: string | undefined, types: EventType[]][] {
  const groups = Map.groupBy(types, ({ group }) => group);
  return [...groups].toSorted(
    ([one = ''], [other = '']) => Number(one === '') - Number(other === '') || one.localeCompare(other),
  );
}
