import type { FieldError } from '../../../shared/domain/errors.ts';
import { isEventTypeName, isVisibleTo } from '../../../shared/domain/event-type/event-type.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiPorts } from '../dependencies.ts';

/**
 * Warnings about the types that a subscription asks for: those that the catalogue does not show to its queue. None while
 * the catalogue is empty. A type may be published before it is described, so it is no error.
 */
export async function findTypeWarnings(
  { eventTypes }: Pick<ApiPorts, 'eventTypes'>,
  queue: string,
  { event_types: names = [] }: SubscriptionOptions = {},
): Promise<{ warnings?: FieldError[] }> {
  if (names.length === 0) return {};
  const { items } = await eventTypes.list({ limit: 1 });
  if (items.length === 0) return {};
  const known = await Promise.all(names.map((name) => isKnown(name)));
  const warnings = names.flatMap((name, index) => {
    const message = `names ${name}, which is no event type that the queue sees`;
    return known[index] === true ? [] : [{ field: `options.event_types[${index}]`, message }];
  });
  return warnings.length === 0 ? {} : { warnings };

  async function isKnown(name: string): Promise<boolean> {
    if (!isEventTypeName(name)) return false;
    const found = await eventTypes.find(name);
    return found !== undefined && isVisibleTo(found, { queue });
  }
}
