import type { MessageRecord, NextPart, PartResult } from '../../../shared/ports/messages.ts';

/** The result of adding a part to the stored record, if the record is still as it was read. */
export const withPart = (
  current: MessageRecord | undefined,
  read: MessageRecord,
  next: NextPart,
): PartResult => {
  if (current?.acceptedAt !== read.acceptedAt) return { kind: 'refused', current: undefined };
  const isAhead = current.parts?.length !== read.parts?.length;
  return isAhead ? { kind: 'refused', current } : { kind: 'added', record: added(current, next) };
};

const added = (
  { until: _before, parts = [], apart = [], ...record }: MessageRecord,
  { part, until, matched, filtered, apart: more }: NextPart,
): MessageRecord => ({
  ...record,
  matched: record.matched + matched,
  filtered: record.filtered + filtered,
  ...(apart.length + more.length === 0 ? {} : { apart: [...apart, ...more] }),
  parts: [...parts, part],
  ...(until === undefined ? {} : { until }),
});
