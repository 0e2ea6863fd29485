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
  /** The role that Scheduler assumes to send to the two queues. */
  roleArn: string;
  retryQueueUrl: string;
  /** The queue for wake-ups that Scheduler could not send. */
  deadLetterArn: string;
};

/** Scheduler's retries when SQS refuses the wake-up: through an outage of some hours, as often as Scheduler allows. */
const TARGET_RETRIES = { MaximumEventAgeInSeconds: 6 * 3_600, MaximumRetryAttempts: 185 };

/**
 * Deletes schedules made by `schedulerWakeUps`.
 * @throws SDK errors for requests that no retry can make succeed
 */
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
 * @throws SDK errors for requests that no retry can make succeed: invalid, not permitted, no such group
 */
export function schedulerWakeUps(
  scheduler: SchedulerClient,
  settings: ScheduleSettings,
): Pick<WakeUps, 'schedule'> {
  return {
    schedule: async (name, at, wakeUp) => {
      try {
        await scheduler.send(new CreateScheduleCommand(buildSchedule(name, at, wakeUp, settings)));
        return 'scheduled';
      } catch (error) {
        // The name identifies this wake-up, so another request has already created it.
        if (error instanceof ConflictException) return 'scheduled';
        if (isRefusal(error)) return 'refused';
        throw error;
      }
    },
  };
}

function buildSchedule(
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
      Input: JSON.stringify(buildSendRequest(wakeUp, settings)),
      DeadLetterConfig: { Arn: settings.deadLetterArn },
      RetryPolicy: TARGET_RETRIES,
    },
  };
}

/**
 * The SQS request that Scheduler makes. Its templated SQS target takes no message group for a standard queue; its
 * universal target does (EventBridge Scheduler user guide, "Using universal targets"). So all wake-ups of a
 * subscription are in one group.
 */
function buildSendRequest(wakeUp: WakeUp, { retryQueueUrl }: ScheduleSettings) {
  return { QueueUrl: retryQueueUrl, MessageBody: encodeWakeUp(wakeUp), MessageGroupId: groupOf(wakeUp) };
}

/** `yyyy-mm-ddThh:mm:ss`, rounded up so that the wake-up is never early. */
function wholeSecond(at: number): string {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().slice(0, 19);
}

const REFUSALS: ReadonlySet<string> = new Set(['ThrottlingException', 'ServiceQuotaExceededException']);

/** Codes of socket and DNS errors in Node: there was no response. */
const NO_RESPONSE = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;

/**
 * Whether the request failed for now, as opposed to permanently. If the schedule was created all the same, it
 * only wakes the delivery once more.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status = findStatus(error);
  return status === undefined
    ? wasUnanswered(error)
    : status >= 500 || status === 429 || REFUSALS.has(error.name);
}

/** HTTP status of the response, if there was one. The SDK sets it even if it cannot parse the response. */
function findStatus(error: Error): number | undefined {
  return responseSchema.safeParse(error).data?.$metadata.httpStatusCode;
}

const responseSchema = z.object({ $metadata: z.object({ httpStatusCode: z.number() }) });

function wasUnanswered(error: Error): boolean {
  return (
    error.name === 'TimeoutError' ||
    ('code' in error && typeof error.code === 'string' && NO_RESPONSE.test(error.code))
  );
}

export function schedulerClient(options: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient {
  return new SchedulerClient(clientOptions('scheduler', options));
}
