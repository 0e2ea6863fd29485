import * as z from 'zod';
import {
  ActionAfterCompletion,
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  DeleteScheduleCommand,
  FlexibleTimeWindowMode,
  ResourceNotFoundException,
  SchedulerClient,
  type SchedulerClientConfig,
} from '@aws-sdk/client-scheduler';
import { groupOf, type WakeUp } from '../../domain/delivery/job.ts';
import type { WakeUps } from '../../ports/wake-ups.ts';
import { encodeWakeUp } from '../../wire/jobs/delivery-job.ts';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

export type ScheduleSettings = {
  group: string;
  /** Taken by Scheduler to send to the two queues. */
  roleArn: string;
  retryQueueUrl: string;
  /** Where Scheduler puts a wake-up that it could not send. */
  deadLetterArn: string;
};

/** Scheduler's own retries when SQS refuses the wake-up. Beyond this, reconcile has long woken the delivery. */
const TARGET_RETRIES = { MaximumEventAgeInSeconds: 3_600, MaximumRetryAttempts: 30 };

/** Takes back what `schedulerWakeUps` set. @throws what the SDK throws for a request that will never be taken. */
export function schedulerRemoval(
  scheduler: SchedulerClient,
  { group }: Pick<ScheduleSettings, 'group'>,
): Pick<WakeUps, 'unschedule'> {
  return {
    unschedule: async (name) => {
      try {
        await scheduler.send(new DeleteScheduleCommand({ Name: name, GroupName: group }));
        return 'removed';
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return 'absent';
        if (isRefusal(error)) return 'refused';
        throw error;
      }
    },
  };
}

/**
 * Wake-ups by one-shot schedules of EventBridge Scheduler, which delete themselves.
 * @throws what the SDK throws for a request that will never be taken: not valid, not permitted, no such group.
 */
export function schedulerWakeUps(
  scheduler: SchedulerClient,
  settings: ScheduleSettings,
): Pick<WakeUps, 'schedule'> {
  return {
    schedule: async (name, at, wakeUp) => {
      try {
        await scheduler.send(new CreateScheduleCommand(scheduleOf(name, at, wakeUp, settings)));
        return 'scheduled';
      } catch (error) {
        // The name stands for this very wake-up, so somebody has set it already.
        if (error instanceof ConflictException) return 'scheduled';
        if (isRefusal(error)) return 'refused';
        throw error;
      }
    },
  };
}

function scheduleOf(
  name: string,
  at: number,
  wakeUp: WakeUp,
  settings: ScheduleSettings,
): CreateScheduleCommandInput {
  return {
    Name: name,
    ClientToken: name,
    GroupName: settings.group,
    ScheduleExpression: `at(${wholeSecond(at)})`,
    ScheduleExpressionTimezone: 'UTC',
    FlexibleTimeWindow: { Mode: FlexibleTimeWindowMode.OFF },
    ActionAfterCompletion: ActionAfterCompletion.DELETE,
    Target: {
      // In the partition of the role: aws, aws-us-gov, aws-cn.
      Arn: `arn:${settings.roleArn.split(':')[1]}:scheduler:::aws-sdk:sqs:sendMessage`,
      RoleArn: settings.roleArn,
      Input: JSON.stringify(sendingOf(wakeUp, settings)),
      DeadLetterConfig: { Arn: settings.deadLetterArn },
      RetryPolicy: TARGET_RETRIES,
    },
  };
}

/**
 * The request that Scheduler makes of SQS. Its own target for SQS takes no group for a standard queue; its target for any call does
 * (EventBridge Scheduler user guide, "Using universal targets"), and so the wake-ups of one subscription stay one group of the
 * retry queue, as those that we send ourselves.
 */
function sendingOf(wakeUp: WakeUp, { retryQueueUrl }: ScheduleSettings) {
  return { QueueUrl: retryQueueUrl, MessageBody: encodeWakeUp(wakeUp), MessageGroupId: groupOf(wakeUp) };
}

/** Rounded up, so that it is no nearer than the caller made sure of: `yyyy-mm-ddThh:mm:ss`. */
function wholeSecond(at: number): string {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().slice(0, 19);
}

const REFUSALS: ReadonlySet<string> = new Set(['ThrottlingException', 'ServiceQuotaExceededException']);

/** Errors of Node's sockets and resolver, by `code`: no answer came. */
const UNREACHED = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;

/** Not to be had now, as opposed to never. A schedule that came about all the same only wakes a delivery once more. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status = statusOf(error);
  return status === undefined
    ? wasUnanswered(error)
    : status >= 500 || status === 429 || REFUSALS.has(error.name);
}

/** The SDK marks every error that an answer led to, also where the answer was not the service's own and cannot be read. */
function statusOf(error: Error): number | undefined {
  return answered.safeParse(error).data?.$metadata.httpStatusCode;
}

const answered = z.object({ $metadata: z.object({ httpStatusCode: z.number() }) });

function wasUnanswered(error: Error): boolean {
  return (
    error.name === 'TimeoutError' ||
    ('code' in error && typeof error.code === 'string' && UNREACHED.test(error.code))
  );
}

export function schedulerClient({
  deadline,
  journal,
  ...config
}: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient {
  return new SchedulerClient({ ...clientOptions('scheduler', { deadline, journal }), ...config });
}
