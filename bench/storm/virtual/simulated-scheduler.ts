import { SchedulerClient, ThrottlingException } from '@aws-sdk/client-scheduler';
import * as z from 'zod';
import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import { parseDeliveryRecord } from '../../../shared/wire/jobs/delivery-job.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Chance } from '../../../test/simulation/chance.ts';
import type { VirtualClock } from '../../../test/support/in-memory/virtual-clock.ts';
import { quotaOf } from './quota.ts';
import { repeating } from './repeats.ts';

/** Requests a second of an account in a region (Amazon EventBridge Scheduler quotas). */
export type SchedulerQuotas = { createPerSecond: number; invokePerSecond: number };

export type SimulatedScheduler = {
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
  const parsed = parseDeliveryRecord(text);
  if (!parsed.ok || parsed.value.kind !== 'wake_up') throw new TypeError('A schedule carries a wake-up.');
  return parsed.value;
};
