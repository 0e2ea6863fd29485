import { buildPage, pageUpTo, parseMarker } from '../../../shared/adapters/dynamodb/pages.ts';
import {
  type EventType,
  isVisibleTo,
  type TypeViewer,
} from '../../../shared/domain/event-type/event-type.ts';
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
    list: async (page, viewer) => answer(await Promise.resolve(pageOf([...types.values()], page, viewer))),
    delete: (name) => {
      const before = types.get(name);
      types.delete(name);
      return answer(before);
    },
  };
};

const pageOf = (types: readonly EventType[], page: PageRequest, viewer: TypeViewer): Page<EventType> => {
  const listing = `#event-types#${viewer === undefined ? '' : viewer.queue}`;
  const sorted = types.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  let { read, isEnd } = readAfter(sorted, parseMarker(listing, page));
  const visible = () => read.filter((type) => isVisibleTo(type, viewer));
  while (!isEnd && visible().length === 0) ({ read, isEnd } = readAfter(sorted, read.at(-1)?.name));
  const seen = visible();
  return isEnd || seen.length > page.limit
    ? buildPage(listing, seen, page.limit, ({ name }) => name)
    : pageUpTo(listing, seen, seen.at(-1)?.name);
};

const readAfter = (sorted: readonly EventType[], last = '') => {
  const rest = sorted.filter(({ name }) => name > last);
  let room = MAX_READ_BYTES;
  const beyond = rest.findIndex((type) => (room -= Buffer.byteLength(JSON.stringify(type))) < 0);
  return beyond === -1 ? { read: rest, isEnd: true } : { read: rest.slice(0, beyond), isEnd: false };
};
