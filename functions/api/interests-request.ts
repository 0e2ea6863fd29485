import * as z from 'zod';
import { parseContentFilter } from '../../shared/domain/content-filter-schema.ts';
import { messageType } from './printable.ts';

const MAX_EVENT_TYPES = 50;
const EVENT_TYPES_RULE = `must be a list of 1 to ${MAX_EVENT_TYPES} types`;

/** Types match exactly. An asterisk would be taken for a wildcard and would silently match nothing, so it is refused. */
export const eventTypes = z
  .array(
    messageType.refine((type) => !type.includes('*'), 'must not hold *: types match exactly'),
    EVENT_TYPES_RULE,
  )
  .min(1, EVENT_TYPES_RULE)
  .max(MAX_EVENT_TYPES, EVENT_TYPES_RULE)
  .overwrite((types) => [...new Set(types)]);

/** Kept as it was given; what it means, `content-filter.ts` says. */
export const contentFilter = z.unknown().superRefine((given, refinement) => {
  const read = parseContentFilter(given);
  if (read.ok) return;
  for (const { path, message } of read.faults) {
    refinement.addIssue({ code: 'custom', path: [...path], message });
  }
});
