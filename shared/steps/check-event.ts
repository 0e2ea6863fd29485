import { type EventFault, invalidEvent } from '../domain/event-type/event-fault.ts';
import { isEventTypeName, isVisibleTo } from '../domain/event-type/event-type.ts';
import type { Message } from '../domain/message/message.ts';
import type { CachedEventTypes, ValidateEvent } from '../ports/event-types.ts';

/** The catalogue and its validation. */
export type EventChecks = { eventTypes: CachedEventTypes; validateEvent: ValidateEvent };

/** `undecided`: the schema needs too many steps, or this version cannot read it. */
export type CheckedEvent = { kind: 'valid' } | { kind: 'invalid'; fault: EventFault } | { kind: 'undecided' };

/** What the catalogue says of a message. One without a type is valid, and so is one of a type without a schema. */
export async function checkEvent(
  { eventTypes, validateEvent }: EventChecks,
  { queue, type, data }: Pick<Message, 'queue' | 'type' | 'data'>,
): Promise<CheckedEvent> {
  if (type === undefined) return { kind: 'valid' };
  const found = isEventTypeName(type) ? await eventTypes.find(type) : undefined;
  if (found === 'unreadable') return { kind: 'undecided' };
  if (found === undefined || !isVisibleTo(found, { queue }))
    return { kind: 'invalid', fault: { reason: 'unknown_event_type' } };
  if (found.schema === undefined) return { kind: 'valid' };
  const result = await validateEvent(found.schema, JSON.parse(data));
  return result.kind === 'invalid'
    ? { kind: 'invalid', fault: invalidEvent(result.path, result.detail) }
    : result;
}
