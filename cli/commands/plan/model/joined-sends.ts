/** Amazon SQS: messages in a batch. */
const MOST_IN_BATCH = 10;

/** Requests by which so many messages go that are sent together. */
export function requestsFor(messages: number): number {
  return Math.ceil(messages / MOST_IN_BATCH);
}

/** What so many messages of one size that are sent together cost: request by request, each but the last one full. */
export function byRequest(messages: number, ofRequest: (messages: number) => number): number {
  const rest = messages % MOST_IN_BATCH;
  const full = Math.floor(messages / MOST_IN_BATCH);
  return full * ofRequest(MOST_IN_BATCH) + (rest === 0 ? 0 : ofRequest(rest));
}

/** How many records of an invocation send to one queue, and how many messages each; on average, so these may be fractions. */
type Sends = { records: number; messages: number };

/** Whoever fills a request by itself does not go with others (shared/adapters/sqs/joined-sends.ts). */
function areJoined({ messages }: Sends): boolean {
  return messages < MOST_IN_BATCH;
}

/**
 * What the sends of an invocation cost, if so many messages together cost `of`: its first record's go at once, and those of
 * all others together, as if these were ready before the first request was answered.
 */
export function ofInvocation(sends: Sends, of: (messages: number) => number): number {
  const { records, messages } = sends;
  if (!areJoined(sends)) return records * of(messages);
  return onAverage(records, (whole) => (whole <= 0 ? 0 : of(messages) + of((whole - 1) * messages)));
}

/**
 * What an invocation waits for beyond what its records would wait for by themselves, in calls. Those that go together wait
 * for the first request and then for their own, and all of these are sent side by side: so it is one, however many go.
 */
export function furtherWaits(sends: Sends): number {
  return areJoined(sends) ? Math.min(1, Math.max(0, sends.records - 1)) : 0;
}

/** An average of 1.3 is taken for invocations with one and with two: of what costs by the step, steps are to be taken whole. */
function onAverage(count: number, of: (whole: number) => number): number {
  const below = Math.floor(count);
  return of(below) + (count - below) * (of(below + 1) - of(below));
}
