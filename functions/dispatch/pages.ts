import {
  bucketIn,
  type Buckets,
  bucketsFor,
  chunksFor,
  endOfBuckets,
  hashToChunk,
  type Part,
} from '../../shared/domain/delivery/fan-out.ts';
import type { ChunkJob, DeliveryJob, FirstJob } from '../../shared/domain/delivery/job.ts';
import { CLOCKS_DIFFER_MS } from '../../shared/domain/delivery/recreated-queue.ts';
import { computeSqsDelay } from '../../shared/domain/delivery/wake-up-plan.ts';
import type { EventValidation, RetainedMessages } from '../../shared/domain/subscription/vocabulary.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import {
  listedAt,
  type MatchContent,
  type MatchResult,
  matchSubscriptions,
} from '../../shared/domain/message/matching.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import { UnfinishedError } from '../../shared/domain/receives.ts';
import type { ListedSubscription } from '../../shared/domain/subscription/subscription.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { MessageRecord, MessageRecords, NextPart } from '../../shared/ports/messages.ts';
import type { DeadLetters, DeliveryQueue } from '../../shared/ports/queues.ts';
import type { SubscriptionPage, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { EventChecks } from '../../shared/steps/check-event.ts';

export type DispatchContext = {
  ports: {
    clock: Clock;
    subscriptions: Subscriptions;
    messageRecords: MessageRecords;
    payloads: Payloads;
    deliveryQueue: DeliveryQueue;
    deadLetters: DeadLetters;
    journal: Journal;
  } & EventChecks;
  settings: {
    retentionMs: number;
    retryAfterCapMs: number;
    retainMessages: RetainedMessages;
    eventValidation: EventValidation;
    /** Approximate number of subscriptions per job. */
    firstAttemptsPerJob: number;
  };
  /** Whether the invocation has time for another page of subscriptions. */
  hasTime: () => boolean;
};

/** What every subscription of a message receives. */
type AcceptedContent = { content: MatchContent; body: BodyLocation; timing: SendTiming };

/**
 * Sends a message to the subscriptions after its last recorded part, page by page. Each page is recorded before its
 * jobs are sent, so a crash repeats one page and every subscription keeps its bucket and chunk.
 * @throws UnfinishedError if there is no time for all of them
 */
export async function sendPages(
  context: DispatchContext,
  record: MessageRecord,
  sent: AcceptedContent,
): Promise<void> {
  let current: MessageRecord | undefined = record;
  while (current?.lastSubscriptionId !== undefined) {
    current = await sendNextPart(
      context,
      { ...current, lastSubscriptionId: current.lastSubscriptionId },
      sent,
    );
    if (current?.lastSubscriptionId !== undefined) throwIfOutOfTime(context, current);
  }
}

/** The last part of a message, as far as one page of subscriptions covers it. */
type LastPart = {
  page: Pick<SubscriptionPage, 'subscriptions' | 'lastSubscriptionId'>;
  part: Part;
  match: MatchResult;
};

/**
 * Reads a page of the last part's subscriptions, matched as of the time recorded for the part. Without the cache:
 * another function instance may have used a different one. `firstPage`: as dispatch read it, for a queue deleted since.
 */
export async function readLastPart(
  { ports }: DispatchContext,
  record: MessageRecord,
  { content }: Pick<AcceptedContent, 'content'>,
  firstPage?: SubscriptionPage,
): Promise<LastPart> {
  const { key, acceptedAt, parts, lastSubscriptionId } = record;
  const part = findLastPart(record);
  const fresh = await ports.subscriptions.page(key.queue, 'fresh', part.after);
  const page = fresh ?? (parts === undefined ? firstPage : undefined) ?? { subscriptions: [] };
  const within = page.subscriptions.filter(
    ({ id }) => lastSubscriptionId === undefined || id <= lastSubscriptionId,
  );
  return { page, part, match: matchSubscriptions(within, content, { ...part, acceptedAt }) };
}

/** The matching subscriptions of a page, and the part of the record that contains them. */
type MatchedPart = {
  record: MessageRecord;
  part: Part;
  match: Pick<MatchResult, 'matching' | 'undecided'>;
};

export async function sendJobs(
  { ports }: DispatchContext,
  { record, part, match }: MatchedPart,
  { body, timing }: AcceptedContent,
): Promise<void> {
  const { key, acceptedAt, unchunked = [], retentionDays } = record;
  noteUndecided(ports.journal, key, match.undecided);
  const ids = match.matching.map(({ id }) => id);
  const jobs = firstJobsFor(ids, { ...part, key, acceptedAt, unchunked, retentionDays }, body, timing);
  // A redelivered message waits only for the rest of its delay.
  await ports.deliveryQueue.send(jobs, computeSqsDelay(acceptedAt + timing.delayMs, ports.clock.now()));
}

/** Sends the next part. Undefined: nothing is left, because the record was deleted or belongs to another message. */
async function sendNextPart(
  context: DispatchContext,
  record: MessageRecord & { lastSubscriptionId: string },
  sent: AcceptedContent,
): Promise<MessageRecord | undefined> {
  const { ports } = context;
  const { next, match } = await planNextPart(context, record, sent.content);
  const added = await ports.messageRecords.addPart(record, next);
  // Another copy of the message recorded this part first.
  if (added.kind === 'refused')
    return (
      added.current &&
      resendLastPart(context, added.current, sent, await readLastPart(context, added.current, sent))
    );
  const { matching, filtered } = match;
  ports.journal.note({ fact: 'page_sent', message: record.key, matched: matching.length, filtered });
  await sendJobs(context, { record: added.record, part: next.part, match }, sent);
  return added.record;
}

async function planNextPart(
  { ports, settings }: DispatchContext,
  record: MessageRecord & { lastSubscriptionId: string },
  content: MatchContent,
): Promise<{ next: NextPart; match: MatchResult }> {
  const found = await ports.subscriptions.page(record.key.queue, 'cached', record.lastSubscriptionId);
  // The queue was deleted and recreated: its subscriptions did not exist when the message was accepted.
  const page = found?.queueCreatedAt === record.queueCreatedAt ? found : undefined;
  const { subscriptions, readAt, lastSubscriptionId } = page ?? {
    subscriptions: [],
    readAt: ports.clock.now(),
  };
  const acceptance = {
    acceptedAt: record.acceptedAt,
    // The list as of the acceptance, even if this page is read much later.
    listedAt: Math.min(listedAt(readAt, subscriptions), record.listedAt + CLOCKS_DIFFER_MS),
  };
  const match = matchSubscriptions(subscriptions, content, acceptance);
  const { matching, filtered } = match;
  const { unchunked = [], ...buckets } = bucketsForNextPart(record, matching, settings.firstAttemptsPerJob);
  const part = { ...buckets, after: record.lastSubscriptionId, listedAt: acceptance.listedAt };
  return { next: { part, lastSubscriptionId, matched: matching.length, filtered, unchunked }, match };
}

/** The buckets of the next part. A part without matches adds no bucket. */
function bucketsForNextPart(
  record: MessageRecord,
  matching: MatchResult['matching'],
  firstAttemptsPerJob: number,
): Buckets & Pick<MessageRecord, 'unchunked'> {
  if (matching.length === 0) return pickBuckets(findLastPart(record));
  const firstBucket = record.matched === 0 ? (record.firstBucket ?? 0) : endOfBuckets(record);
  const buckets = bucketsFor(matching.length);
  const chunks = divideIntoChunks(matching, buckets, firstAttemptsPerJob, record.unchunked?.length);
  return { firstBucket, buckets, ...chunks };
}

/**
 * Sends the last part again, because its jobs may not have been sent. If it is longer than a page now, or was
 * recorded by a version without pages, each page becomes a separate part in the same buckets. Undefined: the record was
 * deleted.
 * @throws UnfinishedError if there is no time for all of them
 */
export async function resendLastPart(
  context: DispatchContext,
  record: MessageRecord,
  sent: AcceptedContent,
  last: LastPart,
): Promise<MessageRecord | undefined> {
  const { ports } = context;
  const { page, part, match } = last;
  await sendJobs(context, { record, part, match }, sent);
  if (
    page.lastSubscriptionId === undefined ||
    (record.lastSubscriptionId !== undefined && page.lastSubscriptionId >= record.lastSubscriptionId)
  )
    return record;
  const rest = { ...part, after: page.lastSubscriptionId };
  const next = {
    part: rest,
    lastSubscriptionId: record.lastSubscriptionId,
    matched: 0,
    filtered: 0,
    unchunked: [],
  };
  const added = await ports.messageRecords.addPart(record, next);
  const current = added.kind === 'added' ? added.record : added.current;
  if (current === undefined) return undefined;
  throwIfOutOfTime(context, current);
  return resendLastPart(context, current, sent, await readLastPart(context, current, sent));
}

function findLastPart(record: MessageRecord): Part {
  return record.parts?.at(-1) ?? { ...pickBuckets(record), listedAt: record.listedAt };
}

function pickBuckets({ firstBucket = 0, buckets, chunks }: Buckets): Buckets {
  return { firstBucket, buckets, ...(chunks === undefined ? {} : { chunks }) };
}

function throwIfOutOfTime({ ports, hasTime }: DispatchContext, { key }: MessageRecord): void {
  if (hasTime()) return;
  ports.journal.note({ fact: 'message_unfinished', message: key });
  throw new UnfinishedError();
}

const MAX_NAMED = 10;

/** Logs expensive filters in one line. The operator needs the ids of their subscriptions. */
function noteUndecided(journal: Journal, message: MessageKey, undecided: MatchResult['undecided']): void {
  if (undecided.length === 0) return;
  journal.note({
    fact: 'filter_too_costly',
    message,
    subscriptions: undecided.length,
    subscriptionIds: undecided.slice(0, MAX_NAMED).map(({ id }) => id),
  });
}

/** When the message was sent (milliseconds since the epoch), and its delay after acceptance. */
export type SendTiming = { sentAt: number | undefined; delayMs: number };

/**
 * Maximum number of separate deliveries per message. Every failure reads the message's record, so it must stay small.
 */
const MAX_UNCHUNKED = 25;

/**
 * How the deliveries of a message are divided into chunks. A job takes as long as its slowest delivery, so a failing
 * subscription gets a separate job.
 */
export function divideIntoChunks(
  matching: readonly ListedSubscription[],
  buckets: number,
  firstAttemptsPerJob: number,
  unchunkedCount = 0,
): Pick<MessageRecord, 'chunks' | 'unchunked'> {
  const failing = matching.filter(({ failing }) => failing !== undefined);
  const unchunked = failing.slice(0, MAX_UNCHUNKED - unchunkedCount).map(({ id }) => id);
  const chunks = chunksFor(matching.length - unchunked.length, buckets, firstAttemptsPerJob);
  if (chunks === undefined) return {};
  return { chunks, ...(unchunked.length === 0 ? {} : { unchunked }) };
}

/** Which bucket and chunk a delivery belongs to, from its message's record. */
type DeliveryPlacement = Pick<MessageRecord, 'key' | 'acceptedAt' | 'unchunked' | 'retentionDays'> & Buckets;

/**
 * The jobs for a message's first attempts: one per chunk, and one per delivery outside the chunks. A subscription's
 * chunk never changes, so repeats with other matches use the same chunk.
 */
export function firstJobsFor(
  subscriptionIds: readonly string[],
  placement: DeliveryPlacement,
  body: BodyLocation,
  { sentAt, delayMs }: SendTiming,
): FirstJob[] {
  const { key, acceptedAt, chunks, unchunked = [], retentionDays } = placement;
  const common = {
    acceptedAt,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(delayMs > 0 ? { dueAt: acceptedAt + delayMs } : {}),
    retentionDays,
    body,
  };
  const single = (subscriptionId: string): DeliveryJob => {
    const place = { ...key, subscriptionId, bucket: bucketIn(placement, subscriptionId) };
    return { kind: 'job', key: place, attempt: 1, ...common };
  };
  if (chunks === undefined) return subscriptionIds.map(single);
  const isUnchunked = new Set(unchunked);
  const placed = Map.groupBy(
    subscriptionIds.filter((id) => !isUnchunked.has(id)),
    (id) => bucketIn(placement, id) * chunks + hashToChunk(id, chunks),
  );
  const chunkJobs = [...placed].map(([place, members]): ChunkJob => {
    const at = { ...key, bucket: Math.floor(place / chunks), chunk: place % chunks };
    return { kind: 'chunk', key: at, subscriptionIds: members, ...common };
  });
  return [...chunkJobs, ...subscriptionIds.filter((id) => isUnchunked.has(id)).map(single)];
}
