import { MAX_SNIPPET } from '../../../shared/adapters/http/exchange.ts';
import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
import { WHOLE_PROCESSOR_MEGABYTES } from '../../../shared/config/rules.ts';
import { MAX_SNIPPET_BYTES } from '../../../shared/domain/delivery/chunk.ts';
import { bucketsFor, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';
import { MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD } from '../../../shared/domain/message/body.ts';
import { countUnits, READ_UNIT, REQUEST_UNIT, WRITE_UNIT } from './prices.ts';
import {
  envelopeBytes,
  firstLines,
  invocation,
  itemBytes,
  LISTED_SUBSCRIPTION_UNITS,
  quantities,
  REFRESH_SECONDS,
  STORED_OVERHEAD,
  type Counted,
  type Quantities,
} from './quantities.ts';
import { FULL_BATCH, SECONDS_A_DAY, sumOver, type Work } from './load.ts';

/** Duration of an AWS call within a region. An assumption: the local AWS cannot measure it. */
export const AWS_CALL_MS = 5;

/** Each instance of deliver keeps an opened secret for an hour (shared/adapters/kms/signing-secrets.ts). */
const SECRET_SECONDS = 3600;

export type Operations = ReturnType<typeof countOperations>;

/** The operations that AWS counts for some work: those of its events, and what the invocations add. */
export function countOperations(work: Work) {
  const { plan, seconds, queues, messages, unmatched, pulled, batches, groups } = work;
  const { fanOut, payloadBytes, subscriptions, cacheSeconds, workers } = plan;
  const { jobs, inChunk } = countJobs(work);
  const events = listEvents(work);
  const made = totals(Object.values(events).flat());
  const [schedules, wakeUps] = [made('schedules'), made('wakeUps')];

  const accepted = messages + unmatched;
  // A schedule sends a wake-up that deliver sends again.
  const retryRecords = wakeUps + schedules;
  const firstRuns = (messages * jobs) / batches.delivery;
  const wokenRuns = wakeUps / batches.retry;
  const runs = {
    dispatch: accepted / batches.ingress,
    deliver: firstRuns + retryRecords / batches.retry,
    api: made('requests'),
  };

  // Calls in sequence over all invocations. The records of a batch run in parallel.
  const calls = {
    dispatch: (totals(events.dispatch)('calls') + messages * Math.ceil(jobs / FULL_BATCH)) / batches.ingress,
    deliver: totals(events.deliver)('calls') / batches.delivery,
    api: runs.api * invocation.api.calls,
  };
  const computeSeconds = (name: keyof typeof runs, moreCalls = 0): number => {
    const { cpu, coldCpu } = invocation[name];
    const takes = totals(events[name]);
    const busyMs = takes('cpu') + runs[name] * (cpu + plan.coldStartShare * coldCpu);
    const answeredMs = takes('answeredMs') / batches.delivery;
    return computeDuration(plan.memoryMegabytes[name], busyMs, calls[name] + moreCalls) + answeredMs / 1000;
  };
  const countInstances = (name: 'dispatch' | 'deliver'): number =>
    workers || Math.max(1, Math.ceil((computeSeconds(name) * plan.peakFactor) / seconds));
  const instances = { dispatch: countInstances('dispatch'), deliver: countInstances('deliver'), api: 1 };
  /** Of so many times those that remain if an instance does it at most once in a period for each item. */
  const limited = (name: keyof typeof runs, times: number, items: number, period: number): number =>
    Math.min(times, instances[name] * items * Math.max(1, seconds / period));

  const reads = {
    // A list without a subscription is never from the cache.
    lists:
      limited('dispatch', messages / batches.ingress, queues, cacheSeconds) + unmatched / batches.ingress,
    queues: limited('deliver', firstRuns + wokenRuns * Math.min(batches.retry, queues), queues, cacheSeconds),
    first: limited(
      'deliver',
      firstRuns * Math.min(fanOut, (batches.delivery * fanOut) / jobs),
      subscriptions,
      cacheSeconds,
    ),
    // Strongly consistent, so never from the cache.
    woken: wokenRuns * Math.min(batches.retry, subscriptions),
  };
  // The item of a minute is under 1 KB. An invocation writes the counters of its queues; an instance writes those of a queue at
  // most once a second (shared/steps/counting-journal.ts).
  const countWrites = (name: keyof typeof runs, runCount: number, batch: number): number =>
    plan.statisticsPerInvocation === undefined
      ? limited(name, runCount * Math.min(batch, queues), queues, 1)
      : runCount * plan.statisticsPerInvocation;
  const statistics = {
    dispatch: countWrites('dispatch', runs.dispatch, batches.ingress),
    deliver: countWrites('deliver', runs.deliver, batches.delivery),
    api: countWrites('api', pulled, 1),
  };
  // Without a request to a subscriber deliver has no metrics. A worker writes those of a second together.
  const withRequests = runs.deliver - (firstRuns * pulled) / (messages * fanOut);
  const lineSeconds = workers > 0 ? 1 : 0;

  const ingress = envelopeBytes.ingress + payloadBytes;
  const job = envelopeBytes.job(inChunk) + (payloadBytes > MAX_BODY_IN_JOB ? 0 : payloadBytes);
  // Wake-ups share send requests, as jobs do: those of first attempts, those that Scheduler sent early, and those of retries.
  const ofFirst = sumOver(groups, ({ retries }) =>
    retries.find(({ mechanism }) => mechanism !== 'same_invocation')?.mechanism === 'sqs_delay' ? 1 : 0,
  );
  const wakeUpSends = (sent: number, invocations: number): Event => [
    { sends: 1, calls: 1 },
    invocations === 0 ? 0 : invocations * countSendUnits(sent / invocations, 1),
  ];

  const all = totals([
    ...Object.values(events).flat(),
    [{ writes: 1, calls: 1 }, statistics.dispatch + statistics.deliver + statistics.api],
    [{ reads: 1 + LISTED_SUBSCRIPTION_UNITS * (fanOut - 1), calls: 1 }, reads.lists],
    [{ reads: 1, calls: 1 }, reads.queues + reads.first + reads.woken],
    [{ sends: countSendUnits(batches.ingress, jobs, job) }, messages / batches.ingress],
    [{ calls: countSendUnits(batches.ingress, jobs) }, messages / batches.ingress],
    wakeUpSends(ofFirst, firstRuns),
    wakeUpSends(schedules, schedules / batches.retry),
    wakeUpSends(wakeUps - schedules - ofFirst, wokenRuns),
    [{ log: invocation.dispatch.log }, limited('dispatch', runs.dispatch, 1, lineSeconds)],
    [{ log: invocation.deliver.log }, limited('deliver', withRequests, 1, lineSeconds)],
    [{ log: invocation.api.log }, runs.api],
  ]);
  const attempts = sumOver(groups, ({ retries }) => retries.length + 1);
  return {
    writeUnits: all('writes'),
    readUnits: all('reads'),
    sqsRequests:
      all('sends') +
      schedules +
      accepted * countUnits(ingress, REQUEST_UNIT) +
      pollRequests(accepted, ingress, batches.ingress) +
      pollRequests(messages * jobs, job, batches.delivery) +
      pollRequests(retryRecords, envelopeBytes.wakeUp, batches.retry),
    /** Those that carry a message group (fair queues): jobs and wake-ups, including those of Scheduler. */
    sqsGroupedRequests: all('sends') + schedules,
    invocations: runs,
    schedules,
    kmsRequests: limited('deliver', attempts + pulled / batches.pull, subscriptions, SECRET_SECONDS),
    s3Puts: all('s3Puts'),
    s3Gets: all('s3Gets'),
    events: all('events'),
    logBytes: all('log'),
    /** Bytes sent to subscribers. */
    bytesOut: (attempts + pulled) * (payloadBytes + envelopeBytes.request),
    attempts,
    failedAttempts: sumOver(groups, ({ failures }) => failures),
    /** Without those to KMS. Wake-ups of an invocation share those of their sends. */
    awsCalls: all('calls') - wakeUps,
    /** Of all invocations. The queue and the subscriptions are read in parallel. */
    seconds: {
      dispatch: computeSeconds('dispatch', statistics.dispatch + reads.lists),
      deliver: computeSeconds('deliver', statistics.deliver + reads.queues + reads.woken),
      api: computeSeconds('api'),
    },
    /** Bytes of items that stay until they expire. */
    storedBytes: all('stored'),
  };
}

/** What an event takes, and how often it happens. */
type Event = readonly [takes: Quantities, times: number];

function totals(events: readonly Event[]): (what: Counted) => number {
  return (what) => events.reduce((total, [takes, times]) => total + times * (takes[what] ?? 0), 0);
}

/** What happens in each function. */
function listEvents(work: Work) {
  const { plan, seconds, queues, messages, unmatched, pulled, batches, groups, kept } = work;
  const { fanOut, payloadBytes, answerBytes, recordsPerChunk } = plan;
  const { chunks, jobs, inChunk } = countJobs(work);
  // 1 where the bucket has the body: from the start, or from a first failure on.
  const inBucket = Number(payloadBytes > MAX_BODY_IN_JOB);
  const inBucketWhenFailing = Number(payloadBytes > MAX_BODY_ON_RECORD);
  const bodyBytes = (1 - inBucketWhenFailing) * payloadBytes;
  const messageBytes = itemBytes.message + bodyBytes;
  const chunkBytes = itemBytes.chunk(inChunk) + inChunk * Math.min(answerBytes, MAX_SNIPPET_BYTES);
  const recordBytes = (attempts: number): number =>
    itemBytes.delivery(attempts) + Math.min(answerBytes, MAX_SNIPPET);
  const event = (takes: Quantities, times: number, attempts = 1): Event => {
    const { recordWrites = 0, messageReads = 0, writes = 0, reads = 0 } = takes;
    const written = writes + recordWrites * countUnits(recordBytes(attempts), WRITE_UNIT);
    const read = reads + messageReads * countUnits(messageBytes, READ_UNIT);
    return [{ ...takes, writes: written, reads: read }, times];
  };
  // First successes of a message share lines in an invocation with several of its jobs, and in a chunk.
  const together = Math.min(jobs, batches.delivery);
  const sharedLines =
    together < 2 ? chunks : (jobs / together) * Math.ceil((fanOut * together) / jobs / MAX_ON_A_LINE);
  const singleLog = together < 2 ? firstLines.alone : firstLines.success;

  const dispatch = [
    event(quantities.message, messages + unmatched),
    // Their bodies are kept with the record, from the start.
    event({ writes: countUnits(messageBytes, WRITE_UNIT) - 1, stored: bodyBytes }, unmatched),
    event(quantities.job, messages * jobs),
    event(quantities.bodyPut, inBucket * messages + inBucketWhenFailing * unmatched),
  ];
  const chunk = {
    writes:
      countUnits(itemBytes.claimedChunk(inChunk), WRITE_UNIT) +
      recordsPerChunk * countUnits(chunkBytes, WRITE_UNIT),
    calls: 1 + recordsPerChunk,
    answeredMs: plan.attemptMs,
    stored: STORED_OVERHEAD + chunkBytes,
  };
  const deliver = [
    event({ ...quantities.chunk, ...chunk }, messages * chunks),
    // The members of a chunk share what it fetches.
    event(quantities.bodyGet, inBucket * messages * chunks),
    event({ log: firstLines.line }, messages * sharedLines),
    event({ writes: countUnits(messageBytes, WRITE_UNIT), stored: bodyBytes }, kept),
    event(quantities.bodyPutLater, (inBucketWhenFailing - inBucket) * kept),
    event({ ...quantities.leftToPull, stored: STORED_OVERHEAD + recordBytes(1) }, pulled),
    ...groups.flatMap(({ deliveries, singleJobShare, failures, exhausted, retries }) => {
      const single = chunks === 0 ? deliveries : deliveries * singleJobShare;
      const isFailing = failures > 0;
      // First successes in a chunk share its item and its wait.
      const separate = {
        stored: STORED_OVERHEAD + recordBytes(retries.length + 1),
        answeredMs: failures * plan.failedAttemptMs + (exhausted ? 0 : plan.attemptMs),
      };
      return [
        event(separate, isFailing ? deliveries : single),
        event(quantities.single, single),
        event(quantities.bodyGet, inBucket * single),
        event(isFailing ? quantities.firstFailure : { log: singleLog }, single),
        event(isFailing ? quantities.failedMember : quantities.member, deliveries - single),
        ...retries.flatMap(({ mechanism }, index) => [
          event(quantities[mechanism], deliveries, index + 2),
          event(quantities.bodyGet, mechanism === 'same_invocation' ? 0 : inBucketWhenFailing * deliveries),
        ]),
        event(quantities.exhaustion, exhausted ? deliveries : 0, failures),
      ];
    }),
  ];
  const days = seconds / SECONDS_A_DAY;
  const api = [
    event(quantities.apiRequest, plan.apiRequestsPerDay * days),
    event(quantities.portalRequest, plan.portalRequestsPerDay * days),
    event(quantities.receive, pulled / batches.pull),
    event(quantities.pulled, pulled),
    event(quantities.bodyGet, inBucketWhenFailing * pulled),
    event(quantities.refresh, (queues * plan.consoleHours * 3600 * days) / REFRESH_SECONDS),
  ];
  return { dispatch, deliver, api };
}

/**
 * Average jobs for the first attempts of a message, divided as in dispatch (functions/dispatch/pages.ts), and members of a
 * chunk. Dispatch knows of failing subscriptions for some of the messages, and only those have fewer members in chunks.
 */
export function countJobs({ messages, plan: { fanOut, firstAttemptsPerJob }, groups }: Work) {
  const buckets = bucketsFor(fanOut);
  if (chunksFor(fanOut, buckets, firstAttemptsPerJob) === undefined)
    return { jobs: fanOut, chunks: 0, singles: fanOut, inChunk: 0 };
  const singles = sumOver(groups, ({ singleJobShare }) => singleJobShare) / messages;
  const failing = sumOver(groups, ({ singleJobShare }) => (singleJobShare > 0 ? 1 : 0)) / messages;
  const knownShare = failing === 0 ? 0 : singles / failing;
  // Members are placed by a hash, so some chunks stay empty.
  const countChunks = (members: number): number => {
    const places = buckets * (chunksFor(members, buckets, firstAttemptsPerJob) ?? 1);
    return places === 1 ? Math.min(1, members) : places * (1 - (1 - 1 / places) ** members);
  };
  const chunks = knownShare * countChunks(fanOut - failing) + (1 - knownShare) * countChunks(fanOut);
  return { jobs: chunks + singles, chunks, singles, inChunk: chunks === 0 ? 0 : (fanOut - singles) / chunks };
}

/**
 * SQS request units for the sends of an invocation. The first record sends by itself and the others share requests,
 * unless one record fills a request (shared/adapters/sqs/joined-sends.ts). `records` is their average number, `messages`
 * those of each, and `bytes` their size.
 */
function countSendUnits(records: number, messages: number, bytes = 0): number {
  const requests = (count: number): number => {
    const rest = count % FULL_BATCH;
    const full = Math.floor(count / FULL_BATCH) * countUnits(FULL_BATCH * bytes, REQUEST_UNIT);
    return full + Math.min(1, rest) * countUnits(rest * bytes, REQUEST_UNIT);
  };
  if (messages >= FULL_BATCH) return records * requests(messages);
  return Math.min(1, records) * requests(messages) + requests(Math.max(0, records - 1) * messages);
}

/** SQS request units of the event source: Lambda receives a batch with one request and deletes it with another. */
function pollRequests(records: number, bytes: number, batch: number): number {
  return (records / batch) * (countUnits(batch * bytes, REQUEST_UNIT) + 1);
}

/** Seconds: processor time divided by the share of a vCPU that the memory buys, and the wait for calls in sequence. */
export function computeDuration(memoryMegabytes: number, busyMs: number, calls: number): number {
  const share = Math.min(1, memoryMegabytes / WHOLE_PROCESSOR_MEGABYTES);
  return (busyMs / share + calls * AWS_CALL_MS) / 1000;
}
