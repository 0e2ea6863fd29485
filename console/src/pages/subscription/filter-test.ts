import { evaluateFilter } from '../../../../shared/domain/subscription/content-filter.ts';
import { parseContentFilter } from '../../../../shared/domain/subscription/content-filter-schema.ts';
import { jsonFault } from '../../parts/fields.tsx';

/** Whether a subscription would get a message, and why not. */
export type FilterVerdict =
  | { kind: 'matches' }
  /** `path`: dotted, of the first field that does not match the filter. */
  | { kind: 'filtered'; by: 'event_types' }
  | { kind: 'filtered'; by: 'filter'; path: string }
  /** The filter or the data cannot be read. */
  | { kind: 'invalid'; what: 'filter' | 'data'; fault: string };

type Given = { eventTypes: readonly string[]; filter: string; type: string; data: string };

/** As many as dispatch grants one filter. */
const MAX_STEPS = 200_000;

/** Applies the filter as dispatch does. `filter` and `data` are JSON; an empty filter matches everything. */
export function testFilter({ eventTypes, filter, type, data }: Given): FilterVerdict {
  const fault = jsonFault(data);
  if (fault !== undefined) return { kind: 'invalid', what: 'data', fault };
  if (eventTypes.length > 0 && !eventTypes.includes(type)) return { kind: 'filtered', by: 'event_types' };
  return filter.trim() === '' ? { kind: 'matches' } : testData(filter, JSON.parse(data));
}

function testData(filter: string, data: unknown): FilterVerdict {
  const fault = jsonFault(filter);
  if (fault !== undefined) return { kind: 'invalid', what: 'filter', fault };
  const parsed = parseContentFilter(JSON.parse(filter));
  if (!parsed.ok) {
    const text = parsed.faults.map(({ path, message }) => `${path.map(String).join('.')} ${message}`.trim());
    return { kind: 'invalid', what: 'filter', fault: text.join('; ') };
  }
  const budget = { steps: MAX_STEPS, listsRead: new WeakMap() };
  const { mismatch: path } = evaluateFilter(parsed.filter, data, budget);
  return path === undefined ? { kind: 'matches' } : { kind: 'filtered', by: 'filter', path };
}
