import {
  matchSubscriptions,
  listedAt,
  type MatchResult,
  type MatchContent,
} from '../../shared/domain/message/addressees.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import { bucketsFor, type Buckets, endOfBuckets, type Part } from '../../shared/domain/delivery/fan-out.ts';
import { CLOCKS_DIFFER_MS } from '../../shared/domain/message/life.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import { UnfinishedError } from '../../shared/domain/receives.ts';
import { planSqsDelay } from '../../shared/domain/retry/wake-up-plan.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { MessageRecord, MessageRecords, NextPart } from '../../shared/ports/messages.ts';
import type { DeliveryQueue } from '../../shared/ports/queues.ts';
import type { SubscriptionPage, Subscriptions } from '../../shared/ports/subscriptions.ts';
import { divideIntoChunks, firstJobsFor, type SendTiming } from './first-jobs.ts';

export type PagesContext = {
  ports: {
    clock: Pick<Clock, 'now'>;
    subscriptions: Pick<Subscriptions, 'page'>;
    messageRecords: Pick<MessageRecords, 'addPart'>;
    deliveryQueue: DeliveryQueue;
    journal: Journal;
  };
  settings: { firstAttemptsPerJob: number };
  /** Whether the invocation has time for another page of subscriptions. */
  hasTime: () => boolean;
};

/** What is sent to all subscriptions of a message. */
export type AcceptedContent = { content: MatchContent; body: BodyLocation; sending: SendTiming };

/**
 * Sends a message whose last part was sent to the subscriptions behind it, page by page: each is on record before its jobs are
 * sent, and the next one only after that. So a crash repeats one page, and every subscription stays where it was.
 * @throws UnfinishedError when there is no time for all of them
 */
export async function sendPages(
  context: PagesContext,
  record: MessageRecord,
  sent: AcceptedContent,
): Promise<void> {
  let current: MessageRecord | undefined = record;
  while (current?.until !== undefined) {
    current = await sendNext(context, { ...current, until: current.until }, sent);
    if (current?.until !== undefined) goOnOnlyInTime(context, current);
  }
}

/** What is to be sent again: the last part of a message as far as one page of the list has it. */
type Piece = { page: Pick<SubscriptionPage, 'subscriptions' | 'until'>; part: Part; addressees: MatchResult };

/**
 * Reads the subscriptions of a message's last part once more, or the first of them, and judges them as of when it was recorded.
 * Afresh, because a repeat may meet another function's cache. `read`: what was just read, for a queue that was deleted since.
 */
export async function readLast(
  { ports }: PagesContext,
  record: MessageRecord,
  { content }: Pick<AcceptedContent, 'content'>,
  read?: SubscriptionPage,
): Promise<Piece> {
  const { key, acceptedAt, parts, until } = record;
  const part = lastPartOf(record);
  const fresh = await ports.subscriptions.page(key.queue, 'fresh', part.after);
  const page = fresh ?? (parts === undefined ? read : undefined) ?? { subscriptions: [] };
  const within = page.subscriptions.filter(({ id }) => until === undefined || id <= until);
  return { page, part, addressees: matchSubscriptions(within, content, { ...part, acceptedAt }) };
}

/**
 * Sends the last part of a message once more, and what comes after it.
 * @throws UnfinishedError when there is no time for all of them
 */
export async function sendAgain(
  context: PagesContext,
  record: MessageRecord,
  sent: AcceptedContent,
  last: Piece,
): Promise<void> {
  const current = await resend(context, record, sent, last);
  if (current !== undefined) await sendPages(context, current, sent);
}

/** To whom a page of the list goes, by the part of the message's record that it is in. */
type Paged = { record: MessageRecord; part: Part; addressees: Pick<MatchResult, 'matching' | 'undecided'> };

export async function sendJobs(
  { ports }: Pick<PagesContext, 'ports'>,
  { record, part, addressees }: Paged,
  { body, sending }: AcceptedContent,
): Promise<void> {
  const { key, acceptedAt, apart = [] } = record;
  noteUndecided(ports.journal, key, addressees.undecided);
  const ids = addressees.matching.map(({ id }) => id);
  const jobs = firstJobsFor(ids, { ...part, key, acceptedAt, apart }, body, sending);
  // A repeat waits for what is left of the delay, not for all of it once more.
  const { delaySeconds } = planSqsDelay(acceptedAt + sending.delayMs, ports.clock.now());
  await ports.deliveryQueue.send(jobs, delaySeconds);
}

/** Undefined: there is nothing left to do, because the record is of another message by now, or gone. */
async function sendNext(
  context: PagesContext,
  record: MessageRecord & { until: string },
  sent: AcceptedContent,
): Promise<MessageRecord | undefined> {
  const { ports } = context;
  const { next, addressees } = await nextPart(context, record, sent.content);
  const added = await ports.messageRecords.addPart(record, next);
  // Another copy of the message is ahead.
  if (added.kind === 'refused')
    return (
      added.current && resend(context, added.current, sent, await readLast(context, added.current, sent))
    );
  const { matching, filtered } = addressees;
  ports.journal.note({ fact: 'page_sent', message: record.key, matched: matching.length, filtered });
  await sendJobs(context, { record: added.record, part: next.part, addressees }, sent);
  return added.record;
}

async function nextPart(
  { ports, settings }: PagesContext,
  record: MessageRecord & { until: string },
  content: MatchContent,
): Promise<{ next: NextPart; addressees: MatchResult }> {
  const found = await ports.subscriptions.page(record.key.queue, 'cached', record.until);
  // In another life of the queue there is nobody that the message was accepted for.
  const page = found?.life === record.life ? found : undefined;
  const { subscriptions, readAt, until } = page ?? { subscriptions: [], readAt: ports.clock.now() };
  const acceptance = {
    acceptedAt: record.acceptedAt,
    // As of its acceptance, however long after it this is.
    listedAt: Math.min(listedAt(readAt, subscriptions), record.listedAt + CLOCKS_DIFFER_MS),
  };
  const addressees = matchSubscriptions(subscriptions, content, acceptance);
  const { matching, filtered } = addressees;
  const { apart = [], ...buckets } = bucketsBehind(record, matching, settings.firstAttemptsPerJob);
  const part = { ...buckets, after: record.until, listedAt: acceptance.listedAt };
  return { next: { part, until, matched: matching.length, filtered, apart }, addressees };
}

/** Where the deliveries of one more part are. A part that nobody matches takes no bucket of its own. */
function bucketsBehind(
  record: MessageRecord,
  matching: MatchResult['matching'],
  firstAttemptsPerJob: number,
): Buckets & Pick<MessageRecord, 'apart'> {
  if (matching.length === 0) return bucketsOf(lastPartOf(record));
  const firstBucket = record.matched === 0 ? (record.firstBucket ?? 0) : endOfBuckets(record);
  const buckets = bucketsFor(matching.length);
  const apartAlready = record.apart?.length ?? 0;
  return { firstBucket, buckets, ...divideIntoChunks(matching, buckets, firstAttemptsPerJob, apartAlready) };
}

/**
 * Sends the last part once more: its jobs may not have been sent. Where it has become longer than a page, or was recorded by a
 * version that had no pages, each page that was sent becomes a part of its own, in the same buckets.
 */
async function resend(
  context: PagesContext,
  record: MessageRecord,
  sent: AcceptedContent,
  last: Piece,
): Promise<MessageRecord | undefined> {
  const { ports } = context;
  const { page, part, addressees } = last;
  await sendJobs(context, { record, part, addressees }, sent);
  if (page.until === undefined || (record.until !== undefined && page.until >= record.until)) return record;
  const rest = { ...part, after: page.until };
  const next = { part: rest, until: record.until, matched: 0, filtered: 0, apart: [] };
  const added = await ports.messageRecords.addPart(record, next);
  const current = added.kind === 'added' ? added.record : added.current;
  if (current === undefined) return undefined;
  goOnOnlyInTime(context, current);
  const following = await readLast(context, current, sent);
  const { matching } = following.addressees;
  ports.journal.note({ fact: 'page_sent', message: record.key, matched: matching.length, filtered: 0 });
  return resend(context, current, sent, following);
}

function lastPartOf(record: MessageRecord): Part {
  return record.parts?.at(-1) ?? { ...bucketsOf(record), listedAt: record.listedAt };
}

function bucketsOf({ firstBucket = 0, buckets, chunks }: Buckets): Buckets {
  return { firstBucket, buckets, ...(chunks === undefined ? {} : { chunks }) };
}

function goOnOnlyInTime({ ports, hasTime }: PagesContext, { key }: MessageRecord): void {
  if (hasTime()) return;
  ports.journal.note({ fact: 'message_unfinished', message: key });
  throw new UnfinishedError();
}

const MOST_NAMED = 10;

/** One line however many they are; whose filter it is, an operator must know. */
function noteUndecided(journal: Journal, message: MessageKey, undecided: MatchResult['undecided']): void {
  if (undecided.length === 0) return;
  journal.note({
    fact: 'filter_too_costly',
    message,
    subscriptions: undecided.length,
    subscriptionIds: undecided.slice(0, MOST_NAMED).map(({ id }) => id),
  });
}
