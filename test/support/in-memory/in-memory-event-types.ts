import { buildPage, pageUpTo, parseMarker } from '../../../shared/adapters/dynamodb/pages.ts';
import { type EventType, isVisibleTo } from '../../../shared/domain/event-type/event-type.ts';
import type { EventTypes } from '../../../shared/ports/event-types.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { answer, frozen } from './frozen.ts';

/** The most that one request reads (`Query`, DynamoDB API reference). */
const MAX_READ_BYTES = 2 ** 20;

/** The catalogue over one Map. */
export const inMemoryEventTypes = (): EventTypes => {
  const types = new Map<string, EventType>();
  return {
    put: (type) => {
      const before = types.get(type.name);
      types.set(type.name, frozen({ ...type, createdAt: before?.createdAt ?? type.createdAt }));
      return answer(before === undefined ? { kind: 'created' } : { kind: 'replaced', before });
    },
    find: (name) => answer(types.get(name)),
    list: async (page, queue) => answer(await Promise.resolve(pageOf([...types.values()], page, queue))),
    delete: (name) => {
      const before = types.get(name);
      types.delete(name);
      return answer(before);
    },
  };
};

const pageOf = (types: readonly EventType[], page: PageRequest, queue = ''): Page<EventType> => {
  const listing = `#event-types#${queue}`;
  const last = parseMarker(listing, page) ?? '';
  const rest = types.filter(({ name }) => name > last).sort((one, other) => (one.name < other.name ? -1 : 1));
  let room = MAX_READ_BYTES;
  const beyond = rest.findIndex((type) => (room -= Buffer.byteLength(JSON.stringify(type))) < 0);
  const read = beyond === -1 ? rest : rest.slice(0, beyond);
  const visible = queue === '' ? read : read.filter((type) => isVisibleTo(type, queue));
  return visible.length > page.limit || beyond === -1
    ? buildPage(listing, visible, page.limit, ({ name }) => name)
    : pageUpTo(listing, visible, read.at(-1)?.name);
};
