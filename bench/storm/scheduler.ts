import type { VirtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import * as z from 'zod';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import type { Chance } from '../../test/support/chance.ts';
import { SchedulerClient, ThrottlingException } from '@aws-sdk/client-scheduler';

/** Times that a quota lets pass. */
type Quota = {
  /** Whether one more may pass now; times do not go back. */
  admits: (now: number) => boolean;
};

const SECOND_MS = 1_000;

/**
 * At most so many in any second, however it is laid: stricter than a bucket of tokens, which lets twice as many pass in the
 * second after a rest.
 */
const quotaOf = (perSecond: number): Quota => {
  let passed: number[] = [];
  return {
    admits: (now) => {
      if (passed.length >= perSecond) passed = passed.filter((at) => at > now - SECOND_MS);
      if (passed.length >= perSecond) return false;
      passed.push(now);
      return true;
    },
  };
};

/** shared/adapters/aws/retries.ts: the request itself and two repeats. */
const MOST_REQUESTS = 3;

/** The SDK's standard strategy: a second at most before the first repeat of a throttled request, then twice as long. */
const THROTTLED_MS = 1_000;

/** What a client may spend on repeats; one takes so much of it, and a success gives it back. */
const CAPACITY = 500;
const COST = 5;

/**
 * How a client of ours repeats what is throttled (shared/adapters/aws/retries.ts on the SDK's standard strategy), on a clock
 * that is not the machine's. Throws what the last request threw.
 */
const repeating = (clock: Pick<Clock, 'sleep'>, chance: Chance): ((request: () => void) => Promise<void>) => {
  let capacity = CAPACITY;
  return async (request) => {
    for (let repeats = 0; ; repeats += 1) {
      try {
        request();
        capacity = Math.min(CAPACITY, capacity + (repeats === 0 ? 1 : COST));
        return;
      } catch (error) {
        if (repeats + 1 >= MOST_REQUESTS || capacity < COST) throw error;
      }
      capacity -= COST;
      await clock.sleep(Math.floor(chance.next() * THROTTLED_MS * 2 ** repeats));
    }
  };
};

/** Requests a second of an account in a region (Amazon EventBridge Scheduler quotas). */
export type SchedulerQuotas = { createPerSecond: number; invokePerSecond: number };

type SimulatedScheduler = {
  /** The client of one execution environment. */
  client: () => SchedulerClient;
  /** When CreateSchedule was asked, repeats among them. */
  readonly asked: readonly number[];
  /** When it was granted. */
  readonly granted: readonly number[];
  /** When a target was invoked. */
  readonly invoked: readonly number[];
};

type SchedulerOptions = {
  time: VirtualClock;
  clock: Pick<Clock, 'sleep'>;
  chance: Chance;
  quotas: SchedulerQuotas;
  /** What the schedules send, to whom they send it. */
  fire: (wakeUp: WakeUp) => void;
};

/** "60-second precision": at any moment of the minute after the time asked for. */
const PRECISION_MS = 60_000;

const createSchedule = z.object({
  ScheduleExpression: z.string().regex(/^at\(.*\)$/),
  Target: z.object({ Input: z.string() }),
});

/** EventBridge Scheduler with its quotas, behind real clients of the SDK. */
export const simulatedScheduler = (options: SchedulerOptions): SimulatedScheduler => {
  const { time, clock, chance, quotas } = options;
  const creations = quotaOf(quotas.createPerSecond);
  const [asked, granted, invoked]: [number[], number[], number[]] = [[], [], []];
  let nextInvocationAt = 0;

  const create = (input: z.output<typeof createSchedule>): void => {
    asked.push(time.now());
    if (!creations.admits(time.now()))
      throw new ThrottlingException({
        message: 'Rate exceeded',
        Message: 'Rate exceeded',
        $metadata: { httpStatusCode: 429 },
      });
    granted.push(time.now());
    const wakeUp = wakeUpIn(input.Target.Input);
    time.at(timeOf(input.ScheduleExpression) + chance.next() * PRECISION_MS, () => {
      invokeInTurn(wakeUp);
    });
  };

  /** Over the quota, invocations are put off. */
  const invokeInTurn = (wakeUp: WakeUp): void => {
    const at = Math.max(time.now(), nextInvocationAt);
    nextInvocationAt = at + 1000 / quotas.invokePerSecond;
    time.at(at, () => {
      invoked.push(time.now());
      options.fire(wakeUp);
    });
  };

  return {
    asked,
    granted,
    invoked,
    client: () => {
      const credentials = { accessKeyId: 'storm', secretAccessKey: 'storm' };
      const client = new SchedulerClient({ region: 'us-east-1', credentials });
      const repeated = repeating(clock, chance);
      client.middlewareStack.add(
        () =>
          async ({ input }) => {
            const asking = createSchedule.parse(input);
            await repeated(() => {
              create(asking);
            });
            return { response: {}, output: { ScheduleArn: 'simulated', $metadata: {} } };
          },
        { step: 'initialize', priority: 'low', name: 'simulated' },
      );
      return client;
    },
  };
};

const timeOf = (expression: string): number => Date.parse(`${expression.slice('at('.length, -1)}Z`);

const wakeUpIn = (text: string): WakeUp => {
  const parsed = parseWork(text);
  if (!parsed.ok || parsed.value.kind !== 'wake_up') throw new TypeError('A schedule carries a wake-up.');
  return parsed.value;
};
