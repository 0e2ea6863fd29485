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
  { lastSubscriptionId: _before, parts = [], unchunked = [], ...record }: MessageRecord,
  { part, lastSubscriptionId, matched, filtered, unchunked: more }: NextPart,
): MessageRecord => ({
  ...record,
  matched: record.matched + matched,
  filtered: record.filtered + filtered,
  ...(unchunked.length + more.length === 0 ? {} : { unchunked: [...unchunked, ...more] }),
  parts: [...parts, part],
  ...(lastSubscriptionId === undefined ? {} : { lastSubscriptionId }),
});
