import * as z from 'zod';
import { type ApiClient, callBy, formatSearch, markerIn } from '../../api-client/api-client.ts';

const eventTypeSchema = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  schema: z.unknown().exactOptional(),
  example: z.unknown().exactOptional(),
  group: z.string().exactOptional(),
  deprecated: z.boolean().exactOptional(),
});
export type EventType = z.infer<typeof eventTypeSchema>;

/** The event types in the order of their names. */
export type Catalogue = readonly EventType[];

const pageSchema = z.object({
  event_types: z.array(eventTypeSchema),
  links: z.array(z.object({ rel: z.string(), href: z.string() })).default([]),
});

/** `allowed`: the types that endpoints may choose; undefined: all. Types that are not in the catalogue have a name only. */
export async function readCatalogue(
  { send }: ApiClient,
  { queue, event_types: allowed }: { queue: string; event_types?: readonly string[] },
): Promise<Catalogue> {
  const types: EventType[] = [];
  const path = `/v2/queues/${encodeURIComponent(queue)}/event-types`;
  let marker: string | undefined;
  do {
    const search = formatSearch({ limit: 100, marker });
    const page = await callBy(send, { method: 'GET', path, search }, pageSchema);
    types.push(...page.event_types);
    marker = markerIn(page.links);
  } while (marker !== undefined);
  return allowed === undefined ? types : allowed.map((name) => findType(types, name));
}

function findType(catalogue: Catalogue, name: string): EventType {
  return catalogue.find((type) => type.name === name) ?? { name };
}

/** A group without a name is last. */
export function groupTypes(types: readonly EventType[]): [group: string | undefined, types: EventType[]][] {
  const groups = Map.groupBy(types, ({ group }) => group);
  return [...groups].toSorted(
    ([one = ''], [other = '']) => Number(one === '') - Number(other === '') || one.localeCompare(other),
  );
}
