import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
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
  REQUESTS_PER_REFRESH,
  type Counted,
  type Quantities,
} from './quantities.ts';
import { FULL_BATCH, SECONDS_A_DAY, type Group, type Work } from './work.ts';

/** Bytes that DynamoDB adds to each stored item and index entry (developer guide, "Item sizes"). */
const STORED_OVERHEAD = 100;

/** Bytes of a response that a delivery's record keeps (shared/adapters/http/exchange.ts). */
const MAX_KEPT_OF_ANSWER = 256;

/** Memory size at which a function has a full vCPU (Lambda developer guide, "Memory"). */
const MEGABYTES_OF_ONE_PROCESSOR = 1769;

/** Duration of an AWS call within a region. An assumption: the local AWS cannot measure it. */
export const AWS_CALL_MS = 5;

/** Each instance of deliver keeps an opened secret for an hour (shared/adapters/kms/signing-secrets.ts). */
const SECRET_SECONDS = 3600;

export type Operations = ReturnType<typeof countOperations>;

/** The operations that AWS counts for some work: what each event takes, times the number of its occurrences. */
export function countOperations(work: Work) {
  const { plan, seconds, messages, pulled, batches, groups, kept } = work;
  const { fanOut, payloadBytes, answerBytes, recordsPerChunk } = plan;
  const { chunks, members, singles } = countJobs(work);
  const jobs = chunks + singles;
  const sum = (of: (group: Group) => number): number => groups.reduce((total, group) => total + of(group), 0);
  const [inBucket, isPutWhenFailing] = [payloadBytes > MAX_BODY_IN_JOB, payloadBytes > MAX_BODY_ON_RECORD];
  const single = (group: Group): number => group.deliveries * (chunks === 0 ? 1 : group.singleJobShare);
  const recordBytes = (attempts: number): number =>
    itemBytes.delivery(attempts) + Math.min(answerBytes, MAX_KEPT_OF_ANSWER);
  const recorded = (takes: Quantities, attempts: number): Quantities => ({
    ...takes,
    recordWrites: (takes.recordWrites ?? 0) * countUnits(recordBytes(attempts), WRITE_UNIT),
  });
  const queues = Math.max(1, plan.subscriptions / fanOut);
  const receives = pulled / batches.pull;
  const refreshes = (queues * plan.consoleHours * (seconds / 24)) / REFRESH_SECONDS;
  const asked = (plan.apiRequestsPerDay * seconds) / SECONDS_A_DAY;

  const ofDispatch: Row[] = [
    [quantities.message, messages],
    [quantities.job, messages * jobs],
    [quantities.bodyPut, inBucket ? messages : 0],
  ];
  const ofApi: Row[] = [
    [quantities.apiRequest, asked],
    [quantities.receive, receives],
    [recorded(quantities.pulled, 1), pulled],
    [quantities.bodyGet, isPutWhenFailing ? pulled : 0],
    [quantities.refresh, refreshes],
  ];
  // Successes of a chunk's members run in parallel, so together they take as long as one.
  const ofSuccesses = groups
    .filter(({ failures }) => failures === 0)
    .flatMap((group): Row[] => [
      [quantities.member, group.deliveries - single(group)],
      [quantities.bodyGet, inBucket ? group.deliveries - single(group) : 0],
    ]);
  const inSequence: Row[] = [
    [quantities.chunk, messages * chunks],
    [quantities.bodyPutLater, isPutWhenFailing && !inBucket ? kept : 0],
    [recorded(quantities.leftToPull, 1), pulled],
    ...groups.flatMap((group): Row[] => {
      const { deliveries, failures, exhausted, retries } = group;
      const fails = failures > 0;
      return [
        [recorded(quantities.single, 1), single(group)],
        [quantities.firstFailure, fails ? single(group) : 0],
        [recorded(quantities.failedMember, 1), fails ? deliveries - single(group) : 0],
        [quantities.bodyGet, inBucket ? (fails ? deliveries : single(group)) : 0],
        ...retries.slice(0, failures).flatMap(({ mechanism }, index): Row[] => [
          [recorded(quantities[mechanism], index + 2), deliveries],
          [quantities.bodyGet, isPutWhenFailing && mechanism !== 'same_invocation' ? deliveries : 0],
        ]),
        [recorded(quantities.exhaustion, failures), exhausted ? deliveries : 0],
      ];
    }),
  ];
  const all = totals([...ofDispatch, ...ofApi, ...ofSuccesses, ...inSequence]);
  const [dispatched, sequential, byApi] = [totals(ofDispatch), totals(inSequence), totals(ofApi)];

  // A schedule sends a wake-up that deliver sends again.
  const retryRecords = all('wakeUps') + all('schedules');
  const firstRuns = (messages * jobs) / batches.delivery;
  const runs = {
    dispatch: messages / batches.ingress,
    deliver: firstRuns + retryRecords / batches.retry,
    api: asked + receives + pulled + REQUESTS_PER_REFRESH * refreshes,
  };
  const ofChunk = (bytes: (members: number) => number): number =>
    chunks === 0 ? 0 : bytes(members / chunks);
  const snippets = (members: number): number => members * Math.min(answerBytes, MAX_SNIPPET_BYTES);
  const chunkBytes = ofChunk((count) => itemBytes.chunk(count) + snippets(count));
  const chunkWrites = messages * chunks * (1 + recordsPerChunk);
  const messageBytes = itemBytes.message + (isPutWhenFailing ? 0 : payloadBytes);
  const ingress = envelopeBytes.ingress + payloadBytes;
  const job =
    (chunks * ofChunk(envelopeBytes.chunkJob) + singles * envelopeBytes.job) / jobs +
    (inBucket ? 0 : payloadBytes);

  // The jobs of a batch share send requests, as do the wake-ups of an invocation: of first attempts, of those that Scheduler
  // sent early, and of retries.
  const wakeUpsIn = (wakeUps: number, invocations: number): number =>
    invocations === 0 ? 0 : invocations * countSendUnits(wakeUps / invocations, 1);
  const early = all('schedules');
  const wokenRuns = all('wakeUps') / batches.retry;
  const ofFirst = sum(({ deliveries, failures, retries }) =>
    retries.slice(0, failures).find(({ mechanism }) => mechanism !== 'same_invocation')?.mechanism ===
    'sqs_delay'
      ? deliveries
      : 0,
  );
  const wakeUpSends =
    wakeUpsIn(ofFirst, firstRuns) +
    wakeUpsIn(early, early / batches.retry) +
    wakeUpsIn(all('wakeUps') - early - ofFirst, wokenRuns);
  const sends = runs.dispatch * countSendUnits(batches.ingress, jobs, job) + all('sends') + wakeUpSends;

  const failedAttempts = sum(({ deliveries, failures }) => deliveries * failures);
  const attempts = failedAttempts + sum(({ deliveries, exhausted }) => (exhausted ? 0 : deliveries));
  // All attempts wait but first successes in chunks, which take as long as one.
  const firstSuccesses = sum(({ failures, deliveries }) => (failures === 0 ? deliveries : 0));
  const alone = sum((group) => (group.failures === 0 ? single(group) : 0));
  const successes = attempts - failedAttempts - firstSuccesses + alone + messages * chunks;

  // Milliseconds of the processor, and calls and milliseconds in sequence, over all invocations. The records of a batch run
  // in parallel.
  const cpuMs = {
    dispatch: dispatched('cpu') + runs.dispatch * invocation.dispatch.cpu,
    deliver: all('cpu') - dispatched('cpu') - byApi('cpu') + runs.deliver * invocation.deliver.cpu,
    api: byApi('cpu') + runs.api * invocation.api.cpu,
  };
  const waits = {
    dispatch: (dispatched('calls') + messages * Math.ceil(jobs / FULL_BATCH)) / batches.ingress,
    deliver: (sequential('calls') + chunkWrites) / batches.delivery,
    api: runs.api * invocation.api.calls,
  };
  const subscribersMs =
    (successes * plan.attemptMs + failedAttempts * plan.failedAttemptMs) / batches.delivery;
  const computeSeconds = (name: keyof typeof runs, moreCalls = 0): number => {
    const busy = cpuMs[name] + runs[name] * plan.coldStartShare * invocation[name].coldCpu;
    const computed = computeDuration(plan.memoryMegabytes[name], busy, waits[name] + moreCalls);
    return name === 'deliver' ? computed + subscribersMs / 1000 : computed;
  };
  const countInstances = (name: 'dispatch' | 'deliver'): number =>
    plan.workers || Math.max(1, Math.ceil((computeSeconds(name) * plan.peakFactor) / seconds));

  // Each is a call, and one write unit: the item of a minute is under 1 KB. An invocation writes the counters of its
  // queues; an instance writes those of a queue at most once a second (shared/steps/counting-journal.ts).
  const countWrites = (runCount: number, batch: number, instances: number): number =>
    plan.statisticsPerInvocation === undefined
      ? Math.min(runCount * Math.min(batch, queues), instances * queues * seconds)
      : runCount * plan.statisticsPerInvocation;
  const countedByDispatch = countWrites(runs.dispatch, batches.ingress, countInstances('dispatch'));
  const countedByDeliver = countWrites(runs.deliver, batches.delivery, countInstances('deliver'));
  const statistics = countedByDispatch + countedByDeliver + countWrites(pulled, 1, 1);
  // Without a request to a subscriber deliver has no metrics. A worker writes those of a second together.
  const countLines = (runCount: number): number =>
    plan.workers > 0 ? Math.min(runCount, plan.workers * seconds) : runCount;
  const withRequests = runs.deliver - (firstRuns * pulled) / (messages * fanOut);

  // An instance reads the list of a queue and a subscription at most once in cacheSeconds.
  const cached = (name: 'dispatch' | 'deliver', reads: number, items: number): number =>
    plan.cacheSeconds === 0
      ? reads
      : Math.min(reads, (countInstances(name) * items * seconds) / plan.cacheSeconds);
  const listReads = cached('dispatch', runs.dispatch, queues);
  const queueReads = cached('deliver', firstRuns + wokenRuns * Math.min(batches.retry, queues), queues);
  // Strongly consistent, so never from the cache.
  const wokenReads = wokenRuns * Math.min(batches.retry, plan.subscriptions);
  const perRun = Math.min(fanOut, (batches.delivery * fanOut) / jobs);
  const otherReads = queueReads + wokenReads + cached('deliver', firstRuns * perRun, plan.subscriptions);

  return {
    writeUnits:
      all('recordWrites') +
      all('writes') +
      kept * countUnits(messageBytes, WRITE_UNIT) +
      messages * chunks * countUnits(ofChunk(itemBytes.claimedChunk), WRITE_UNIT) +
      messages * chunks * recordsPerChunk * countUnits(chunkBytes, WRITE_UNIT) +
      statistics,
    readUnits:
      listReads * (1 + LISTED_SUBSCRIPTION_UNITS * (fanOut - 1)) +
      otherReads +
      all('reads') +
      all('messageReads') * countUnits(messageBytes, READ_UNIT),
    sqsRequests:
      sends +
      all('schedules') +
      messages * countUnits(ingress, REQUEST_UNIT) +
      pollRequests(messages, ingress, batches.ingress) +
      pollRequests(messages * jobs, job, batches.delivery) +
      pollRequests(retryRecords, envelopeBytes.wakeUp, batches.retry),
    /** Those that carry a message group (fair queues): jobs and wake-ups, including those of Scheduler. */
    sqsGroupedRequests: sends + all('schedules'),
    invocations: runs,
    schedules: all('schedules'),
    kmsRequests: Math.min(
      attempts + receives,
      Math.max(1, seconds / SECRET_SECONDS) * plan.subscriptions * countInstances('deliver'),
    ),
    s3Puts: all('s3Puts'),
    s3Gets: all('s3Gets'),
    events: all('events'),
    logBytes:
      all('log') +
      countLogOfSuccesses(work, firstSuccesses, alone) +
      countLines(runs.dispatch) * invocation.dispatch.log +
      countLines(withRequests) * invocation.deliver.log +
      runs.api * invocation.api.log,
    /** Bytes sent to subscribers. */
    bytesOut: (attempts + pulled) * (payloadBytes + envelopeBytes.request),
    attempts,
    failedAttempts,
    /** Without those to KMS. */
    awsCalls:
      all('calls') +
      chunkWrites +
      runs.dispatch * countSendUnits(batches.ingress, jobs) +
      (wakeUpSends - all('wakeUps')) +
      listReads +
      otherReads +
      statistics,
    /** Of all invocations. The queue and the subscriptions are read in parallel. */
    seconds: {
      dispatch: computeSeconds('dispatch', countedByDispatch + listReads),
      deliver: computeSeconds('deliver', countedByDeliver + queueReads + wokenReads),
      api: computeSeconds('api'),
    },
    /** Bytes of items that stay until they expire; a message also has an index entry. */
    storedBytes:
      messages * (itemBytes.message + 2 * STORED_OVERHEAD) +
      kept * (messageBytes - itemBytes.message) +
      messages * chunks * (STORED_OVERHEAD + chunkBytes) +
      pulled * (STORED_OVERHEAD + recordBytes(1)) +
      sum((group) => {
        const { failures, exhausted, deliveries } = group;
        const bytes = recordBytes(failures + (exhausted ? 0 : 1)) + STORED_OVERHEAD;
        return (failures > 0 ? deliveries : single(group)) * bytes;
      }),
  };
}

type Row = readonly [takes: Quantities, times: number];

function totals(rows: readonly Row[]): (what: Counted) => number {
  return (what) => rows.reduce((total, [takes, times]) => total + times * (takes[what] ?? 0), 0);
}

/** Average jobs for the first attempts of a message, divided as in dispatch (functions/dispatch/pages.ts). */
export function countJobs({ messages, plan: { fanOut, firstAttemptsPerJob }, groups }: Work) {
  const singles =
    groups.reduce((total, group) => total + group.deliveries * group.singleJobShare, 0) / messages;
  const members = fanOut - singles;
  const buckets = bucketsFor(fanOut);
  const inBucket = chunksFor(members, buckets, firstAttemptsPerJob);
  if (inBucket === undefined) return { chunks: 0, members: 0, singles: fanOut };
  // Members are placed by a hash, so some chunks stay empty.
  const places = buckets * inBucket;
  return { chunks: places === 1 ? 1 : places * (1 - (1 - 1 / places) ** members), members, singles };
}

/** Log bytes. First successes share lines in a chunk, and in an invocation with several jobs of their message. */
function countLogOfSuccesses(work: Work, successes: number, single: number): number {
  const { chunks, members, singles } = countJobs(work);
  const together = Math.min(chunks + singles, work.batches.delivery);
  const [runs, inRuns] =
    together >= 2 ? [(chunks + singles) / together, members + singles] : [chunks, members];
  const lines = runs === 0 ? 0 : work.messages * runs * Math.ceil(inRuns / runs / MAX_ON_A_LINE);
  const alone = together >= 2 ? 0 : single;
  return lines * firstLines.line + (successes - alone) * firstLines.success + alone * firstLines.alone;
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
  const share = Math.min(1, memoryMegabytes / MEGABYTES_OF_ONE_PROCESSOR);
  return (busyMs / share + calls * AWS_CALL_MS) / 1000;
}
