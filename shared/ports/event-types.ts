import type { FieldError } from '../domain/errors.ts';
import type { EventType, TypeViewer } from '../domain/event-type/event-type.ts';
import type { Validation } from '../domain/event-type/json-schema.ts';
import type { Page, PageRequest } from './page.ts';

/** The catalogue, for administration. Reads are strongly consistent. */
export interface EventTypes {
  /** Creates a type or replaces it as a whole; keeps `createdAt`. */
  put(type: EventType): Promise<{ kind: 'created' } | { kind: 'replaced'; before: EventType }>;
  find(name: string): Promise<EventType | undefined>;
  /** Ordered by name, about 1 MB at most. Only those that `viewer` sees. @throws InvalidMarkerError */
  list(page: PageRequest, viewer?: TypeViewer): Promise<Page<EventType>>;
  /** Returns the deleted type; undefined: there was none. */
  delete(name: string): Promise<EventType | undefined>;
}

/** The catalogue, for dispatch: `subscriptionCacheSeconds` old at most, also where it says that there is no such type. */
export interface CachedEventTypes {
  /** `unreadable`: neither this version nor the one before wrote it. */
  find(name: string): Promise<EventType | 'unreadable' | undefined>;
}

/** Validates parsed data by the JSON Schema of its type, in bounded time. */
export type ValidateEvent = (schema: unknown, data: unknown) => Promise<Validation>;

/** What is wrong with a JSON Schema: its parts that are refused (docs/event-types.md#what-of-json-schema). */
export type CheckSchema = (schema: Readonly<Record<string, unknown>>) => Promise<FieldError[]>;
