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
  REQUESTS_PER_REFRESH,
  type Counted,
  type Quantities,
} from './quantities.ts';
import { FULL_BATCH, SECONDS_A_DAY, sumOver, type Group, type Work } from './load.ts';

/** Bytes that DynamoDB adds to each stored item and index entry (developer guide, "Item sizes"). */
const STORED_OVERHEAD = 100;

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
  // 1 where the bucket has the body: from the start, or from a first failure on.
  const inBucket = Number(payloadBytes > MAX_BODY_IN_JOB);
  const inBucketWhenFailing = Number(payloadBytes > MAX_BODY_ON_RECORD);
  const singleShare = (group: Group): number => (chunks === 0 ? 1 : group.singleJobShare);
  const failing = groups.filter(({ failures }) => failures > 0);
  const succeeding = groups.filter(({ failures }) => failures === 0);
  const firstSuccesses = sumOver(succeeding, () => 1);
  const alone = sumOver(succeeding, singleShare);
  const recordBytes = (attempts: number): number =>
    itemBytes.delivery(attempts) + Math.min(answerBytes, MAX_SNIPPET);
  const messageBytes = itemBytes.message + (1 - inBucketWhenFailing) * payloadBytes;
  const inChunk = chunks === 0 ? 0 : members / chunks;
  const chunkBytes = itemBytes.chunk(inChunk) + inChunk * Math.min(answerBytes, MAX_SNIPPET_BYTES);
  const row = (takes: Quantities, times: number, attempts = 1): Row => {
    const { recordWrites = 0, messageReads = 0, writes = 0, reads = 0 } = takes;
    const written = writes + recordWrites * countUnits(recordBytes(attempts), WRITE_UNIT);
    const read = reads + messageReads * countUnits(messageBytes, READ_UNIT);
    return [{ ...takes, writes: written, reads: read }, times];
  };
  const queues = Math.max(1, plan.subscriptions / fanOut);
  const receives = pulled / batches.pull;
  const refreshes = (queues * plan.consoleHours * (seconds / 24)) / REFRESH_SECONDS;
  const asked = (plan.apiRequestsPerDay * seconds) / SECONDS_A_DAY;
  const ofPortal = (plan.portalRequestsPerDay * seconds) / SECONDS_A_DAY;
  // Their bodies are kept with the record, from the start.
  const unmatched = (plan.unmatchedPerDay * seconds) / SECONDS_A_DAY;
  const accepted = messages + unmatched;

  const ofDispatch = [
    row(quantities.message, accepted),
    row({ writes: countUnits(messageBytes, WRITE_UNIT) - 1 }, unmatched),
    row(quantities.job, messages * jobs),
    row(quantities.bodyPut, inBucket * messages + inBucketWhenFailing * unmatched),
  ];
  const ofApi = [
    row(quantities.apiRequest, asked),
    row(quantities.portalRequest, ofPortal),
    row(quantities.receive, receives),
    row(quantities.pulled, pulled),
    row(quantities.bodyGet, inBucketWhenFailing * pulled),
    row(quantities.refresh, refreshes),
  ];
  const chunkWrites = {
    writes:
      countUnits(itemBytes.claimedChunk(inChunk), WRITE_UNIT) +
      recordsPerChunk * countUnits(chunkBytes, WRITE_UNIT),
    calls: 1 + recordsPerChunk,
  };
  const ofDeliver = [
    row({ ...quantities.chunk, ...chunkWrites }, messages * chunks),
    row(quantities.member, firstSuccesses - alone),
    // The members of a chunk share what it fetches.
    row(quantities.bodyGet, inBucket * (messages * chunks + alone)),
    row(quantities.bodyPutLater, (inBucketWhenFailing - inBucket) * kept),
    row(quantities.leftToPull, pulled),
    row(quantities.single, alone),
    ...failing.flatMap((group) => {
      const { deliveries, failures, exhausted, retries } = group;
      const single = deliveries * singleShare(group);
      return [
        row(quantities.single, single),
        row(quantities.firstFailure, single),
        row(quantities.failedMember, deliveries - single),
        row(quantities.bodyGet, inBucket * single),
        ...retries.flatMap(({ mechanism }, index) => [
          row(quantities[mechanism], deliveries, index + 2),
          row(quantities.bodyGet, mechanism === 'same_invocation' ? 0 : inBucketWhenFailing * deliveries),
        ]),
        row(quantities.exhaustion, exhausted ? deliveries : 0, failures),
      ];
    }),
  ];
  const rows = { dispatch: ofDispatch, deliver: ofDeliver, api: ofApi };
  const made = totals(Object.values(rows).flat());
  const [schedules, wakeUps] = [made('schedules'), made('wakeUps')];

  // A schedule sends a wake-up that deliver sends again.
  const retryRecords = wakeUps + schedules;
  const firstRuns = (messages * jobs) / batches.delivery;
  const runs = {
    dispatch: accepted / batches.ingress,
    deliver: firstRuns + retryRecords / batches.retry,
    // The function of the portal passes each of its requests on to the API.
    api: asked + 2 * ofPortal + receives + pulled + REQUESTS_PER_REFRESH * refreshes,
  };
  const ingress = envelopeBytes.ingress + payloadBytes;
  const job =
    (chunks * envelopeBytes.chunkJob(inChunk) + singles * envelopeBytes.job) / jobs +
    (1 - inBucket) * payloadBytes;

  // The jobs of a batch share send requests, as do the wake-ups of an invocation: of first attempts, of those that Scheduler
  // sent early, and of retries.
  const wakeUpsIn = (sent: number, invocations: number): number =>
    invocations === 0 ? 0 : invocations * countSendUnits(sent / invocations, 1);
  const wokenRuns = wakeUps / batches.retry;
  const ofFirst = sumOver(groups, ({ retries }) =>
    retries.find(({ mechanism }) => mechanism !== 'same_invocation')?.mechanism === 'sqs_delay' ? 1 : 0,
  );
  const wakeUpSends =
    wakeUpsIn(ofFirst, firstRuns) +
    wakeUpsIn(schedules, schedules / batches.retry) +
    wakeUpsIn(wakeUps - schedules - ofFirst, wokenRuns);

  const attempts = sumOver(groups, ({ retries }) => retries.length + 1);
  const failedAttempts = sumOver(failing, ({ failures }) => failures);
  // All attempts wait but first successes in chunks, which take as long as one.
  const successes = attempts - failedAttempts - firstSuccesses + alone + messages * chunks;

  // Calls in sequence over all invocations. The records of a batch run in parallel.
  const calls = {
    dispatch: (totals(ofDispatch)('calls') + messages * Math.ceil(jobs / FULL_BATCH)) / batches.ingress,
    deliver: totals(ofDeliver)('calls') / batches.delivery,
    api: runs.api * invocation.api.calls,
  };
  const subscribersMs =
    (successes * plan.attemptMs + failedAttempts * plan.failedAttemptMs) / batches.delivery;
  const computeSeconds = (name: keyof typeof runs, moreCalls = 0): number => {
    const { cpu, coldCpu } = invocation[name];
    const busyMs = totals(rows[name])('cpu') + runs[name] * (cpu + plan.coldStartShare * coldCpu);
    const computed = computeDuration(plan.memoryMegabytes[name], busyMs, calls[name] + moreCalls);
    return name === 'deliver' ? computed + subscribersMs / 1000 : computed;
  };
  const countInstances = (name: 'dispatch' | 'deliver'): number =>
    plan.workers || Math.max(1, Math.ceil((computeSeconds(name) * plan.peakFactor) / seconds));

  // The item of a minute is under 1 KB. An invocation writes the counters of its queues; an instance writes those of a queue at
  // most once a second (shared/steps/counting-journal.ts).
  const countWrites = (runCount: number, batch: number, instances: number): number =>
    plan.statisticsPerInvocation === undefined
      ? Math.min(runCount * Math.min(batch, queues), instances * queues * seconds)
      : runCount * plan.statisticsPerInvocation;
  const countedByDispatch = countWrites(runs.dispatch, batches.ingress, countInstances('dispatch'));
  const countedByDeliver = countWrites(runs.deliver, batches.delivery, countInstances('deliver'));
  // Without a request to a subscriber deliver has no metrics. A worker writes those of a second together.
  const countLines = (runCount: number): number =>
    plan.workers > 0 ? Math.min(runCount, plan.workers * seconds) : runCount;
  const withRequests = runs.deliver - (firstRuns * pulled) / (messages * fanOut);

  // An instance reads the list of a queue and a subscription at most once in cacheSeconds.
  const cached = (name: 'dispatch' | 'deliver', reads: number, items: number): number =>
    Math.min(reads, (countInstances(name) * items * seconds) / plan.cacheSeconds);
  // A list without a subscription is never from the cache.
  const listReads =
    cached('dispatch', messages / batches.ingress, queues) + (runs.dispatch - messages / batches.ingress);
  const queueReads = cached('deliver', firstRuns + wokenRuns * Math.min(batches.retry, queues), queues);
  // Strongly consistent, so never from the cache.
  const wokenReads = wokenRuns * Math.min(batches.retry, plan.subscriptions);
  const perRun = Math.min(fanOut, (batches.delivery * fanOut) / jobs);
  const firstReads = cached('deliver', firstRuns * perRun, plan.subscriptions);

  const all = totals([
    ...Object.values(rows).flat(),
    row({ writes: countUnits(messageBytes, WRITE_UNIT) }, kept),
    row({ writes: 1, calls: 1 }, countedByDispatch + countedByDeliver + countWrites(pulled, 1, 1)),
    row({ reads: 1 + LISTED_SUBSCRIPTION_UNITS * (fanOut - 1), calls: 1 }, listReads),
    row({ reads: 1, calls: 1 }, queueReads + wokenReads + firstReads),
    row({ sends: countSendUnits(batches.ingress, jobs, job) }, messages / batches.ingress),
    row({ calls: countSendUnits(batches.ingress, jobs) }, messages / batches.ingress),
    row({ sends: 1, calls: 1 }, wakeUpSends),
    row({ log: invocation.dispatch.log }, countLines(runs.dispatch)),
    row({ log: invocation.deliver.log }, countLines(withRequests)),
    row({ log: invocation.api.log }, runs.api),
  ]);
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
    kmsRequests: Math.min(
      attempts + receives,
      Math.max(1, seconds / SECRET_SECONDS) * plan.subscriptions * countInstances('deliver'),
    ),
    s3Puts: all('s3Puts'),
    s3Gets: all('s3Gets'),
    events: all('events'),
    logBytes: all('log') + countLogOfSuccesses(work, firstSuccesses, alone),
    /** Bytes sent to subscribers. */
    bytesOut: (attempts + pulled) * (payloadBytes + envelopeBytes.request),
    attempts,
    failedAttempts,
    /** Without those to KMS. Wake-ups of an invocation share those of their sends. */
    awsCalls: all('calls') - wakeUps,
    /** Of all invocations. The queue and the subscriptions are read in parallel. */
    seconds: {
      dispatch: computeSeconds('dispatch', countedByDispatch + listReads),
      deliver: computeSeconds('deliver', countedByDeliver + queueReads + wokenReads),
      api: computeSeconds('api'),
    },
    /** Bytes of items that stay until they expire; a message also has an index entry. */
    storedBytes:
      accepted * (itemBytes.message + 2 * STORED_OVERHEAD) +
      (kept + unmatched) * (messageBytes - itemBytes.message) +
      messages * chunks * (STORED_OVERHEAD + chunkBytes) +
      (pulled + alone) * (STORED_OVERHEAD + recordBytes(1)) +
      sumOver(failing, ({ retries }) => STORED_OVERHEAD + recordBytes(retries.length + 1)),
  };
}

type Row = readonly [takes: Quantities, times: number];

function totals(rows: readonly Row[]): (what: Counted) => number {
  return (what) => rows.reduce((total, [takes, times]) => total + times * (takes[what] ?? 0), 0);
}

/**
 * Average jobs for the first attempts of a message, divided as in dispatch (functions/dispatch/pages.ts). Dispatch knows of
 * failing subscriptions for some of the messages, and only those have fewer members in chunks.
 */
export function countJobs({ messages, plan: { fanOut, firstAttemptsPerJob }, groups }: Work) {
  const buckets = bucketsFor(fanOut);
  if (chunksFor(fanOut, buckets, firstAttemptsPerJob) === undefined)
    return { chunks: 0, members: 0, singles: fanOut };
  const singles = sumOver(groups, ({ singleJobShare }) => singleJobShare) / messages;
  const failing = sumOver(groups, ({ singleJobShare }) => (singleJobShare > 0 ? 1 : 0)) / messages;
  const knownShare = failing === 0 ? 0 : singles / failing;
  // Members are placed by a hash, so some chunks stay empty.
  const countChunks = (members: number): number => {
    const places = buckets * (chunksFor(members, buckets, firstAttemptsPerJob) ?? 1);
    return places === 1 ? Math.min(1, members) : places * (1 - (1 - 1 / places) ** members);
  };
  const chunks = knownShare * countChunks(fanOut - failing) + (1 - knownShare) * countChunks(fanOut);
  return { chunks, members: fanOut - singles, singles };
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
  const share = Math.min(1, memoryMegabytes / WHOLE_PROCESSOR_MEGABYTES);
  return (busyMs / share + calls * AWS_CALL_MS) / 1000;
}
