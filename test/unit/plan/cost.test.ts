import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  failuresWithin,
  knownFailingShare,
  type Plan,
  planCourse,
  plannedRetries,
  workOfDay,
  worksOfOutage,
} from '../../../cli/commands/plan/load.ts';
import { countJobs, countOperations, type Operations } from '../../../cli/commands/plan/operations.ts';
import {
  type Bill,
  computeBill,
  computeOutage,
  computePeaks,
  type Outage,
  pricePeers,
  tableCosts,
} from '../../../cli/commands/plan/planned.ts';
import { builtInPrices } from '../../../cli/commands/plan/prices.ts';
import { firstLines, invocation } from '../../../cli/commands/plan/quantities.ts';
import { MEMORY_MEGABYTES } from '../../../shared/config/rules.ts';
import { bucketsFor, chunksFor, hashToBucket, hashToChunk } from '../../../shared/domain/delivery/fan-out.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';

/** A million small messages per day, each for one subscriber that succeeds, without queue statistics and caches. */
const plain: Plan = {
  messagesPerDay: 1_000_000,
  fanOut: 1,
  subscriptions: 1,
  pullShare: 0,
  failureRate: 0,
  failingSeconds: 60,
  policy: DEFAULT_RETRY_POLICY,
  thresholdSeconds: 90,
  payloadBytes: 1024,
  firstAttemptsPerJob: 10,
  recordsPerChunk: 1,
  statisticsPerInvocation: 0,
  messagesPerBatch: 1,
  batchWindowSeconds: 0,
  cacheSeconds: 0,
  attemptMs: 100,
  failedAttemptMs: 100,
  answerBytes: 0,
  peakFactor: 4,
  retentionDays: 30,
  memoryMegabytes: MEMORY_MEGABYTES,
  apiRequestsPerDay: 0,
  portalRequestsPerDay: 0,
  consoleHours: 0,
  unmatchedPerDay: 0,
  coldStartShare: 0,
  workers: 0,
};

/** Policies with delays on both sides of most thresholds. */
const policies = fc
  .record({
    retries_with_no_delay: fc.integer({ min: 0, max: 4 }),
    minimum_delay_retries: fc.integer({ min: 0, max: 4 }),
    backoff_retries: fc.integer({ min: 0, max: 8 }),
    maximum_delay_retries: fc.integer({ min: 0, max: 4 }),
    minimum_delay: fc.integer({ min: 1, max: 100 }),
    maximum_delay: fc.integer({ min: 100, max: 3_600 }),
  })
  .map((policy) => ({ ...DEFAULT_RETRY_POLICY, ...policy }));

const shares = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000);

const plans: fc.Arbitrary<Plan> = fc.record({
  messagesPerDay: fc.integer({ min: 1, max: 1_000_000_000 }),
  fanOut: fc.integer({ min: 1, max: 1_000 }),
  subscriptions: fc.integer({ min: 1, max: 10_000 }),
  pullShare: shares,
  failureRate: shares,
  failingSeconds: fc.integer({ min: 0, max: 100_000 }),
  policy: policies,
  thresholdSeconds: fc.integer({ min: 0, max: 900 }),
  payloadBytes: fc.integer({ min: 1, max: 1024 * 1024 }),
  firstAttemptsPerJob: fc.integer({ min: 1, max: 25 }),
  recordsPerChunk: fc.integer({ min: 1, max: 10 }),
  statisticsPerInvocation: fc.double({ min: 0, max: 1, noNaN: true }),
  messagesPerBatch: fc.integer({ min: 1, max: 10 }),
  batchWindowSeconds: fc.integer({ min: 0, max: 60 }),
  cacheSeconds: fc.constant(0),
  attemptMs: fc.integer({ min: 1, max: 30_000 }),
  failedAttemptMs: fc.integer({ min: 1, max: 30_000 }),
  answerBytes: fc.integer({ min: 0, max: 1024 }),
  peakFactor: fc.integer({ min: 1, max: 100 }),
  retentionDays: fc.integer({ min: 15, max: 365 }),
  memoryMegabytes: fc.constant(MEMORY_MEGABYTES),
  // Not of the messages.
  apiRequestsPerDay: fc.constant(0),
  portalRequestsPerDay: fc.constant(0),
  consoleHours: fc.constant(0),
  unmatchedPerDay: fc.constant(0),
  coldStartShare: shares,
  workers: fc.constant(0),
});

const prices = builtInPrices.regions['us-east-1'];

const operations = (plan: Plan): Operations => countOperations(workOfDay(plan));

const jobs = (plan: Plan) => countJobs(workOfDay(plan));

const perMessage = (plan: Plan, of: (operations: Operations) => number): number =>
  of(operations(plan)) / plan.messagesPerDay;

const bill = (plan: Plan): Bill => computeBill(plan, operations(plan), prices);

describe('the bill', () => {
  it('is the sum of its lines, each a quantity times its price', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { traffic, standing, dataOut, usd } = bill(plan);
        const lines = [...traffic, ...standing, dataOut];
        for (const line of lines) {
          expect(line.usd).toBeCloseTo((line.quantity * prices[line.what].usd) / prices[line.what].per, 6);
          expect(line.usd).toBeGreaterThanOrEqual(0);
        }
        expect(usd / lines.reduce((total, line) => total + line.usd, 0)).toBeCloseTo(1, 9);
      }),
    );
  });

  it('has the metrics that are written only with traffic among the lines of the traffic', () => {
    const quantities = ({ traffic, standing }: Bill): (number | undefined)[] =>
      [traffic, standing].map((lines) => lines.find(({ what }) => what === 'metrics')?.quantity);
    expect(quantities(bill(plain))).toEqual([35, 2]);
  });
});

/** What a plan takes in a month more than another, by line of the bill, in thousandths. */
const added = (plan: Plan, without: Plan): Record<string, number> => {
  const linesOf = ({ traffic, standing }: Bill) => [...traffic, ...standing];
  const all: Record<string, number> = {};
  for (const { what, quantity } of linesOf(bill(plan))) all[what] = (all[what] ?? 0) + quantity;
  for (const { what, quantity } of linesOf(bill(without))) all[what] = (all[what] ?? 0) - quantity;
  return Object.fromEntries(
    Object.entries(all)
      .map(([what, quantity]): [string, number] => [what, Math.round(quantity * 1000) / 1000])
      .filter(([, quantity]) => quantity !== 0),
  );
};

const MONTH = 365 / 12;

describe('a deployment without traffic', () => {
  it('pays for what runs, polls, watches and is kept in any case', () => {
    const { standing } = bill(plain);
    expect(Object.fromEntries(standing.map(({ what, quantity }) => [what, Math.round(quantity)]))).toEqual({
      // Reconcile in each minute: eight shards and the pull subscriptions by half a unit each.
      dynamodbReadUnits: 43_800 * 4.5,
      // Five pollers on each of four queues, every 20 s.
      sqsRequests: 4 * 5 * 3 * 43_800,
      lambdaRequests: 43_800,
      // 15 ms at a seventh of a processor and nine calls of 5 ms, with 256 MB.
      lambdaCompute: Math.round((43_800 * (15 / (256 / 1769) + 45)) / 1000 / 4),
      fargateProcessorHours: 0,
      fargateGigabyteHours: 0,
      logs: 0,
      kmsKeys: 1,
      metrics: 2,
      alarmMetrics: 70,
      compositeAlarms: 2,
      dashboards: 1,
    });
    const usd = standing.reduce((total, line) => total + line.usd, 0);
    expect(usd).toBeCloseTo(0.025 + 1.051 + 0.009 + 0.022 + 0.007 + 1 + 0.6 + 7 + 1 + 3, 2);
  });
});

describe('what is counted only if it is given', () => {
  const few = { ...plain, messagesPerDay: 100_000 };

  it('pull: thirteen write units of a delivery, and a request for each answer and for each receive', () => {
    const pulled = { ...few, pullShare: 1, messagesPerBatch: 10 };
    // The message, its body, and three writes of the record with two or three entries of indexes each.
    expect(perMessage(pulled, ({ writeUnits }) => writeUnits)).toBeCloseTo(2 + 2 + 3 + 3 + 2 + 3, 6);
    expect(perMessage(pulled, ({ invocations }) => invocations.api)).toBeCloseTo(1.1, 6);
    const { attempts, logBytes, invocations } = operations(pulled);
    expect(attempts).toBe(0);
    // Accepted, received and acknowledged, and what API Gateway and dispatch write.
    expect(logBytes / 100_000).toBeCloseTo(292 + 1194 + 36.8 + 1.1 * 270 + 30.4, 6);
    expect(invocations.deliver).toBeCloseTo(10_000, 6);
  });

  it('pull: a message with several pull subscriptions keeps its body once', () => {
    const kept = (given: Partial<Plan>): number => workOfDay({ ...few, ...given }).kept;
    expect(kept({ pullShare: 0.1 })).toBeCloseTo(10_000, 6);
    expect(kept({ pullShare: 0.1, fanOut: 10 })).toBeCloseTo(100_000, 6);
    expect(kept({ pullShare: 0.1, fanOut: 5, failureRate: 1 })).toBeCloseTo(100_000, 6);
  });

  it('the API: API Gateway, an invocation, five reads and a line of the access log for each request', () => {
    const million = added({ ...few, apiRequestsPerDay: 1_000_000 / MONTH }, few);
    expect(million).toEqual({
      apiRequests: 1e6,
      lambdaRequests: 1e6,
      // 3.5 ms and four calls of 5 ms, with 1,769 MB.
      lambdaCompute: Math.round(1e6 * 23.5 * (1769 / 1024)) / 1000,
      dynamodbReadUnits: 5e6,
      logs: 0.27,
    });
  });

  it('the portal: two requests of API Gateway and a write for each of a page, its alarms, and nothing without pages', () => {
    const million = added({ ...few, portalRequestsPerDay: 1_000_000 / MONTH }, few);
    expect(million).toMatchObject({
      apiRequests: 2e6,
      lambdaRequests: 2e6,
      dynamodbReadUnits: 6e6,
      dynamodbWriteUnits: 1e6,
    });
  });

  it('messages without a subscription: a record with the body, and neither jobs nor attempts', () => {
    const million = { unmatchedPerDay: 1e6 / MONTH };
    const more = added({ ...few, ...million }, few);
    expect(more).toMatchObject({
      // The record of 290 bytes with 1,024 of the payload, and its entry in the index by hour.
      dynamodbWriteUnits: 3e6,
      // Read from the list, which has no subscription and is not cached.
      dynamodbReadUnits: 1e6,
      // Published, received and removed.
      sqsRequests: 3e6,
      lambdaRequests: 1e6,
    });
    expect(more).not.toHaveProperty('sqsGroupedRequests');
    const large = { ...few, payloadBytes: 20_000 };
    expect(added({ ...large, ...million }, large)).toMatchObject({ s3Puts: 1e6, dynamodbWriteUnits: 2e6 });
    const stored = (given: Partial<Plan>): number => operations({ ...few, ...given }).storedBytes;
    expect(stored({ unmatchedPerDay: 10 }) - stored({})).toBeCloseTo(10 * (290 + 1024 + 200), 6);
  });

  it('messages without a subscription: the same during an outage', () => {
    const effect = (given: Plan) => computeOutage(given, { hours: 1, share: 1 }, prices).extraUsd;
    expect(effect({ ...few, unmatchedPerDay: 1e6 })).toBeCloseTo(effect(few), 6);
  });

  it('cold starts: their processor time, at the share of a processor that the memory has', () => {
    const { lambdaCompute, ...others } = added({ ...few, coldStartShare: 0.01 }, few);
    expect(others).toEqual({});
    // A thousand of each function in a day, with 512 MB.
    expect(lambdaCompute).toBeCloseTo((MONTH * 1000 * ((126 + 180) / 1000) * 1769) / 512 / 2, 3);
  });

  it('the console: three requests in each second for each queue', () => {
    const open = added({ ...few, consoleHours: 1, subscriptions: 2 }, { ...few, subscriptions: 2 });
    expect(open['apiRequests']).toBeCloseTo(MONTH * 2 * 3600 * 3, 3);
    expect(open['dynamodbReadUnits']).toBeCloseTo(MONTH * 2 * 3600 * 11, 3);
  });

  it('workers: tasks and their polls, and neither invocations nor pollers of Lambda', () => {
    const [worked, pushed] = [bill({ ...few, workers: 2 }), bill(few)];
    const quantity = ({ traffic, standing }: Bill, what: string): number =>
      [...traffic, ...standing].reduce((total, line) => total + (line.what === what ? line.quantity : 0), 0);
    expect(quantity(worked, 'fargateProcessorHours')).toBeCloseTo(2 * 730 * 0.5, 6);
    expect(quantity(worked, 'fargateGigabyteHours')).toBeCloseTo(2 * 730, 6);
    expect(quantity(worked, 'lambdaRequests') + quantity(worked, 'lambdaCompute')).toBe(0);
    // Two loops on four queues, every 25 s.
    expect(quantity(worked, 'sqsRequests') - quantity(pushed, 'sqsRequests')).toBeCloseTo(
      2 * 8 * 2.4 * 43_800 - 4 * 5 * 3 * 43_800,
      3,
    );
    expect(quantity(worked, 'metrics')).toBe(quantity(pushed, 'metrics') + 1);
    // Upgrades of dispatch and deliver have no alarms. Two of the service look at two metrics of three queues each.
    expect(quantity(worked, 'alarmMetrics')).toBe(70 - 2 + 2 * 2 * 3);
    const peaks = computePeaks({ ...few, workers: 2 }, operations(few));
    expect(peaks.find(({ what }) => what === 'deliver_concurrency')?.needed).toBe(0);
  });
});

describe('the price of comparable services', () => {
  it.each([
    { fanOut: 1, sns: 1.1, destinations: 1.2 },
    { fanOut: 10, sns: 0.65, destinations: 0.3 },
  ])('matches the price lists of us-east-1 at a fan-out of $fanOut', ({ fanOut, sns, destinations }) => {
    const [first, second] = pricePeers({ ...plain, fanOut }, prices);
    expect(first?.perMillionDeliveries).toBeCloseTo(sns, 10);
    expect(second?.perMillionDeliveries).toBeCloseTo(destinations, 10);
  });
});

describe('the busiest second', () => {
  const peaks = (plan: Plan) =>
    new Map(computePeaks(plan, operations(plan)).map((peak) => [peak.what, peak]));

  it('names exactly the exceeded quotas', () => {
    const over = (plan: Plan) =>
      [...peaks(plan).values()].filter(({ needed, quota }) => needed > quota).map(({ what }) => what);
    expect(over(plain)).toEqual([]);
    const slow = { ...plain, messagesPerDay: 20_000_000, attemptMs: 2_000 };
    // The need of dispatch depends on measured CPU time.
    expect(over(slow).filter((what) => what !== 'dispatch_concurrency')).toEqual([
      'lambda_concurrency',
      'deliver_concurrency',
    ]);
    const far = {
      ...DEFAULT_RETRY_POLICY,
      retries_with_no_delay: 0,
      minimum_delay: 3_600,
      maximum_delay: 3_600,
    };
    const failing = {
      ...plain,
      messagesPerDay: 50_000_000,
      failureRate: 1,
      failingSeconds: 1e6,
      policy: far,
    };
    expect(over(failing)).toEqual(
      expect.arrayContaining([
        'schedules',
        'create_schedule_rate',
        'schedule_invocation_rate',
        'table_write_rate',
      ]),
    );
  });
});

describe('an outage', () => {
  const outageEffect = (plan: Plan, outage: Outage) => computeOutage(plan, outage, prices);
  const hours = fc.double({ min: 0.01, max: 300, noNaN: true });
  const share = fc.double({ min: 0.01, max: 1, noNaN: true });

  it('has plausible counts: no more exhausted or waiting deliveries than affected ones', () => {
    fc.assert(
      fc.property(plans, hours, share, (plan, forHours, of) => {
        const effect = outageEffect(plan, { hours: forHours, share: of });
        const { same_invocation, sqs_delay, scheduler } = effect.retries;
        const most = effect.deliveries * 30;
        expect(effect.exhausted).toBeLessThanOrEqual(effect.deliveries);
        expect(effect.deliveries).toBeCloseTo((plan.messagesPerDay * plan.fanOut * of * forHours) / 24, -6);
        for (const part of [same_invocation, sqs_delay, scheduler]) expect(part).toBeGreaterThanOrEqual(0);
        expect(same_invocation + sqs_delay + scheduler).toBeLessThanOrEqual(most);
        // A delivery that waits for a retry at the end is not exhausted.
        expect(effect.schedulesAtPeak + effect.delayedMessagesAtPeak).toBeLessThanOrEqual(
          (effect.deliveries - effect.exhausted) * (1 + 1e-9),
        );
      }),
    );
  });

  it('of an hour exhausts no delivery under a policy of a day, and deliveries wait in schedules', () => {
    const policy = {
      ...DEFAULT_RETRY_POLICY,
      retries_with_no_delay: 0,
      minimum_delay: 600,
      maximum_delay: 7_200,
    };
    const effect = outageEffect({ ...plain, policy }, { hours: 1, share: 1 });
    expect(effect.exhausted).toBe(0);
    expect(effect.schedulesAtPeak).toBeCloseTo(effect.deliveries, 5);
    expect(effect.delayedMessagesAtPeak).toBe(0);
    // Retries are due after 600, 1200, 1800, 2400 and 3733 s. Each is made if the one before it still falls into the
    // outage.
    expect(effect.retries.scheduler).toBeCloseTo(
      ((3600 + 3000 + 2400 + 1800 + 1200 - 0) * effect.deliveries) / 3600,
      -1,
    );
  });

  it('adds the attempts of its retries, and more writes', () => {
    const effect = outageEffect(plain, { hours: 2, share: 0.5 });
    const works = worksOfOutage(plain, 2 * 3600, 0.5);
    const [outage, usual] = [countOperations(works.outage), countOperations(works.usual)];
    const retries = effect.retries.same_invocation + effect.retries.sqs_delay + effect.retries.scheduler;
    expect((outage.attempts - usual.attempts) / retries).toBeCloseTo(1, 1);
    expect(outage.writeUnits).toBeGreaterThan(usual.writeUnits);
  });
});

describe('the jobs of a message', () => {
  it.each([11, 25, 100, 600])('are as many as dispatch creates for %i subscriptions', (fanOut) => {
    const trials = 100;
    const buckets = bucketsFor(fanOut);
    const perBucket = chunksFor(fanOut, buckets, 10) ?? 0;
    const made = Array.from({ length: trials }, (_, trial) => {
      const ids = Array.from({ length: fanOut }, (__, index) => `s-${trial}-${index}`);
      return new Set(ids.map((id) => hashToBucket(id, buckets) * perBucket + hashToChunk(id, perBucket)))
        .size;
    });
    const mean = made.reduce((total, count) => total + count, 0) / trials;
    expect(jobs({ ...plain, fanOut }).chunks).toBeCloseTo(mean, 0);
  });

  it('are single jobs for subscriptions that were failing when the message arrived', () => {
    const failing = { ...plain, fanOut: 10, failureRate: 0.1, failingSeconds: 3600 };
    const { singles, chunks } = jobs(failing);
    expect(chunks).toBe(1);
    expect(singles).toBeGreaterThan(0.99);
    expect(singles).toBeLessThan(1);
    // Chunks without failing subscriptions are smaller, but only those of messages for which these are known.
    expect(jobs({ ...failing, fanOut: 12, failureRate: 0.25 }).chunks).toBeCloseTo(1, 1);
    expect(jobs({ ...failing, fanOut: 12, failureRate: 0.25, messagesPerDay: 24 }).chunks).toBeCloseTo(
      1.5,
      2,
    );
    // Too few messages: the subscription is not known to be failing when the next one arrives.
    expect(jobs({ ...failing, messagesPerDay: 1 }).singles).toBeLessThan(0.1);
    expect(knownFailingShare({ ...plain, cacheSeconds: 5 }, 5)).toBe(0);
  });
});

describe('a fan-out in chunks', () => {
  it('writes a record by the size of its members, and keeps little of each response', () => {
    const written = (given: Partial<Plan>): number =>
      perMessage({ ...plain, ...given }, ({ writeUnits }) => writeUnits);
    // The message, its hourly index entry, the claim and the record.
    expect(written({ answerBytes: 5_000 })).toBeCloseTo(4, 6);
    expect(written({ fanOut: 10, answerBytes: 5_000 })).toBeCloseTo(4, 6);
    // With 25 members the claim and each record have two units.
    const large = { fanOut: 25, firstAttemptsPerJob: 25 };
    expect(written(large)).toBeCloseTo(2 + 2 + 2, 6);
    expect(written({ ...large, recordsPerChunk: 3 })).toBeCloseTo(2 + 2 + 3 * 2, 6);
  });

  it('logs up to thirty first successes of a message per invocation on one line', () => {
    const bytes = (messagesPerBatch: number): number => {
      const { logBytes, invocations } = operations({ ...plain, fanOut: 100, messagesPerBatch });
      const ofRuns =
        invocations.dispatch * invocation.dispatch.log + invocations.deliver * invocation.deliver.log;
      return (logBytes - ofRuns) / plain.messagesPerDay;
    };
    // A line for each of some ten chunks, or four lines for a hundred successes.
    const { chunks } = jobs({ ...plain, fanOut: 100 });
    expect(bytes(1) - bytes(10)).toBeCloseTo((chunks - 4) * firstLines.line, 0);
  });

  it('waits for its subscribers in parallel, if they do not fail', () => {
    const waited = (given: Partial<Plan>): number => {
      const secondsAt = (attemptMs: number): number =>
        perMessage({ ...plain, fanOut: 10, attemptMs, ...given }, ({ seconds }) => seconds.deliver);
      return secondsAt(2_000) - secondsAt(1_000);
    };
    expect(waited({})).toBeCloseTo(1, 6);
    expect(waited({ firstAttemptsPerJob: 1 })).toBeCloseTo(10, 6);
    const failing = { ...plain, fanOut: 10, failureRate: 1, failingSeconds: 0 };
    const failedFor = (failedAttemptMs: number): number =>
      perMessage({ ...failing, failedAttemptMs }, ({ seconds }) => seconds.deliver);
    expect(failedFor(2_000) - failedFor(1_000)).toBeCloseTo(10, 6);
  });
});

describe('the operations of a plan', () => {
  it('are fewer in full batches, which share receive, delete and send requests', () => {
    const full = { ...plain, messagesPerBatch: 10 };
    expect(perMessage(full, ({ invocations }) => invocations.deliver)).toBeCloseTo(0.1, 6);
    // Per message: the producer's request stays, dispatch needs two instead of ten, Lambda a tenth of four.
    expect(perMessage(plain, ({ sqsRequests }) => sqsRequests)).toBeCloseTo(6, 6);
    expect(perMessage(full, ({ sqsRequests }) => sqsRequests)).toBeCloseTo(1.6, 6);
    expect(operations(full).readUnits).toBeLessThan(operations(plain).readUnits);
  });

  it('include the writes of queue statistics, one unit and one call for each', () => {
    const written = { ...plain, messagesPerBatch: 10, statisticsPerInvocation: 0.5 };
    const added = (of: (made: Operations) => number): number =>
      perMessage(written, of) - perMessage({ ...written, statisticsPerInvocation: 0 }, of);
    expect(added(({ writeUnits }) => writeUnits)).toBeCloseTo(0.1, 6);
    expect(added(({ awsCalls }) => awsCalls)).toBeCloseTo(0.1, 6);
  });

  it('write queue statistics with each invocation, and at most once for a queue in a second and instance', () => {
    const written = (given: Partial<Plan>): number => {
      const one = { ...plain, peakFactor: 1, ...given };
      const units = (statisticsPerInvocation?: number): number =>
        operations({ ...one, statisticsPerInvocation }).writeUnits;
      return units() - units(0);
    };
    expect(written({ messagesPerDay: 10_000 })).toBeCloseTo(20_000, 6);
    // An instance of dispatch and two of deliver.
    expect(written({})).toBeCloseTo(3 * 86_400, 6);
    expect(written({ messagesPerDay: 10_000, messagesPerBatch: 10, subscriptions: 4 })).toBeCloseTo(8_000, 6);
  });

  it('read lists, queues and subscriptions at most once in the time of the cache and instance', () => {
    const reads = (given: Partial<Plan>): number =>
      operations({ ...plain, messagesPerDay: 100_000, peakFactor: 1, cacheSeconds: 5, ...given }).readUnits;
    const aDay = 86_400 / 5;
    // An instance of each function runs: a list, a queue and a subscription.
    expect(reads({})).toBeCloseTo(3 * aDay, 6);
    // Three queues of one subscription each.
    expect(reads({ subscriptions: 3 })).toBeCloseTo(9 * aDay, 6);
    // Fewer messages than times: each is read once for each.
    expect(reads({ messagesPerDay: 100 })).toBeCloseTo(300, 6);
  });

  it('open the secret of each subscription once an hour and instance, and at most once for each attempt', () => {
    const opened = (given: Partial<Plan>): number => operations({ ...plain, ...given }).kmsRequests;
    expect(opened({ messagesPerDay: 10_000, subscriptions: 50 })).toBeCloseTo(24 * 50, 6);
    expect(opened({ messagesPerDay: 1_000, subscriptions: 50 })).toBeCloseTo(1_000, 6);
    expect(opened({ messagesPerDay: 10_000_000, attemptMs: 1_000, subscriptions: 50 })).toBeGreaterThan(
      100 * 24 * 50,
    );
  });

  it.each([
    { payloadBytes: 8_000, failureRate: 0, puts: 0, gets: 0 },
    { payloadBytes: 20_000, failureRate: 0, puts: 0, gets: 0 },
    { payloadBytes: 20_000, failureRate: 1, puts: 1, gets: 1 },
    { payloadBytes: 100_000, failureRate: 0, puts: 1, gets: 1 },
    { payloadBytes: 100_000, failureRate: 1, puts: 1, gets: 2 },
    // The members of a chunk share what it fetches.
    { payloadBytes: 100_000, failureRate: 0, puts: 1, gets: 1, fanOut: 10 },
    { payloadBytes: 100_000, failureRate: 1, puts: 1, gets: 11, fanOut: 10, failingSeconds: 0 },
  ])('put $puts and get $gets objects for $payloadBytes bytes, failing at a rate of $failureRate', (one) => {
    const { puts, gets, ...given } = one;
    const policy = { ...DEFAULT_RETRY_POLICY, retries_with_no_delay: 0 };
    const plan = { ...plain, failingSeconds: 1, ...given, policy };
    expect(perMessage(plan, ({ s3Puts }) => s3Puts)).toBeCloseTo(puts, 1);
    expect(perMessage(plan, ({ s3Gets }) => s3Gets)).toBeCloseTo(gets, 1);
  });

  it('include a schedule for each retry with a delay of at least the threshold, and no others', () => {
    const policy = { ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 600 };
    const delays = plannedRetries({ policy, thresholdSeconds: 90 }).map(({ delaySeconds }) => delaySeconds);
    for (const thresholdSeconds of [0, 90, 300, 601]) {
      const plan = { ...plain, failureRate: 1, failingSeconds: 1e6, policy, thresholdSeconds };
      const far = delays.filter((delay) => delay > 5 && delay >= thresholdSeconds);
      expect(perMessage(plan, ({ schedules }) => schedules)).toBeCloseTo(far.length, 5);
    }
  });

  it('count a message group for every job and wake-up, delayed by SQS or sent by Scheduler', () => {
    const policy = { ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 600 };
    const grouped = (thresholdSeconds: number): number => {
      const plan = { ...plain, failureRate: 1, failingSeconds: 50, policy, thresholdSeconds };
      return perMessage(plan, ({ sqsGroupedRequests }) => sqsGroupedRequests);
    };
    expect(grouped(900)).toBeCloseTo(2, 5);
    // Scheduler sends the wake-up early, and deliver delays it by SQS for the remaining time.
    expect(grouped(0)).toBeCloseTo(3, 5);
  });
});

describe('the failures of a delivery', () => {
  it('are at least one, and end with the first retry after the failing time', () => {
    const retries = plannedRetries({ policy: DEFAULT_RETRY_POLICY, thresholdSeconds: 90 });
    const course = (failingSeconds: number) => planCourse(retries, failuresWithin(retries, failingSeconds));
    expect(course(0)).toMatchObject({ failures: 1, exhausted: false });
    // Three immediate retries, one after 5 s and one after 10 s.
    expect(course(12)).toMatchObject({ failures: 6, exhausted: false });
    expect(course(1e6)).toMatchObject({ failures: 20, exhausted: true });
    expect(planCourse([], failuresWithin([], 0))).toMatchObject({ failures: 1, exhausted: true });
  });
});

it('provisioned tables cost less with even traffic, and more with a peak of four times the average', () => {
  const costs = (peakFactor: number): number[] => {
    const plan = { ...plain, peakFactor };
    return tableCosts(bill(plan), plan).map(({ usd }) => usd);
  };
  const [deployed = 0, withoutRecovery = 0, , even = 0] = costs(1);
  const [, , , uneven = 0] = costs(4);
  expect(deployed - withoutRecovery).toBeCloseTo(7.7, 0);
  expect(even).toBeLessThan(deployed);
  expect(uneven).toBeGreaterThan(deployed);
});
