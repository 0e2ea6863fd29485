import { GetScheduleCommand, ResourceNotFoundException, SchedulerClient } from '@aws-sdk/client-scheduler';
import { getSubscription } from '../../../../api-client/operations.ts';
import { scheduleName } from '../../../../shared/domain/delivery/wake-up-plan.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { type Retry, retrySchedule, totalSeconds } from '../../../../shared/domain/retry/schedule.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { type Check, failed, judge, type Outcome, passed } from '../check.ts';
import { behave, type Delivered, deliver, ended, NO_RETRIES, requests, within } from '../scenario.ts';
import { numberSetting, type World } from '../world.ts';

const LATE_MS = 10_000;

const EVERY_PHASE: PartialRetryPolicy = {
  retries_with_no_delay: 2,
  minimum_delay_retries: 1,
  minimum_delay: 1,
  backoff_retries: 2,
  maximum_delay: 3,
  maximum_delay_retries: 1,
  retry_backoff_function: 'linear',
  jitter: 'none',
};

export const retryChecks: readonly Check[] = [
  {
    id: 'phases',
    title: 'Each phase of the retry policy is kept, by SQS and on time',
    seconds: 40,
    run: async (world, signal) => {
      const delivered = await deliver(world, 'phases', { behaviour: { status: 500 }, policy: EVERY_PHASE });
      const delivery = await ended(world, delivered, 60, signal);
      return judgeSchedule(world, delivered, delivery, EVERY_PHASE);
    },
  },
  {
    id: 'scheduler',
    title: 'A long delay is kept by EventBridge Scheduler, on time, and its schedule is gone',
    seconds: 130,
    run: async (world, signal) => {
      const delay = numberSetting(world, 'schedulerThreshold') + 2;
      const policy = { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: delay, maximum_delay: delay };
      const delivered = await deliver(world, 'scheduler', { behaviour: { status: 500 }, policy });
      const delivery = await ended(world, delivered, delay + 70, signal);
      const schedule = judgeSchedule(world, delivered, delivery, policy);
      if (schedule.kind !== 'passed') return schedule;
      const by = delivery.attempts[1]?.by ?? 'nothing';
      if (by !== 'scheduler')
        return failed(
          `the retry after ${delay} s came by ${by}`,
          'See schedule_refused in the log of deliver.',
        );
      await within(world, { what: 'its schedule is removed', seconds: 60, signal }, () =>
        isScheduleGone(world, delivered, delivery),
      );
      return schedule;
    },
  },
  {
    id: 'success',
    title: 'A success ends the retries',
    seconds: 20,
    run: async (world, signal) => {
      const policy = { ...NO_RETRIES, minimum_delay_retries: 30 };
      const delivered = await deliver(world, 'success', { behaviour: { status: 500 }, policy });
      await requests(world, delivered, { count: 2, seconds: 60, signal });
      await behave(world, delivered, { status: 200 });
      const { status, attempts } = await ended(world, delivered, 60, signal);
      const answers = world.receiver.seen(delivered.key).map((seen) => seen.status);
      const faults = [
        ...(status === 'delivered' ? [] : [`the delivery is ${status}`]),
        ...(answers.slice(0, -1).includes(200) ? ['a request came after the success'] : []),
        ...(answers.length === attempts.length
          ? []
          : [`${attempts.length} attempts are on record, ${answers.length} arrived`]),
      ];
      return judge(faults, `delivered by attempt ${attempts.length}, and no request after it`, READ_DELIVERY);
    },
  },
  {
    id: 'gone',
    title: '410 ends the delivery and disables the subscription',
    seconds: 15,
    run: async (world, signal) => {
      const delivered = await deliver(world, 'gone', { behaviour: { status: 410 } });
      const { status, reason, attempts } = await ended(world, delivered, 60, signal);
      const { queue, subscription } = delivered;
      const { disabled } = await world.api.call(getSubscription, { path: { queue, subscription } });
      const faults = [
        ...(status === 'rejected' && reason === 'gone' ? [] : [`the delivery is ${status} (${reason})`]),
        ...(attempts.length === 1 ? [] : [`${attempts.length} attempts were made`]),
        ...(disabled?.reason === 'gone' ? [] : ['the subscription is not disabled']),
      ];
      return judge(faults, 'rejected after one request, and disabled', READ_DELIVERY);
    },
  },
  {
    id: 'retry-after',
    title: 'Retry-After delays the next attempt',
    seconds: 25,
    run: async (world, signal) => {
      const policy = { ...NO_RETRIES, minimum_delay_retries: 1, maximum_delay: 60 };
      const behaviour = { status: 500, retryAfter: 4 };
      const delivered = await deliver(world, 'retry-after', { behaviour, policy });
      const { attempts } = await ended(world, delivered, 60, signal);
      const [first, second] = attempts;
      if (first === undefined || second === undefined)
        return failed(`${attempts.length} attempts were made, not 2`, READ_DELIVERY);
      const waited = computeWait(first, second);
      return waited >= 4
        ? passed(`asked for 4 s, waited ${waited.toFixed(1)} s`)
        : failed(`asked for 4 s, waited ${waited.toFixed(1)} s`, READ_DELIVERY);
    },
  },
  {
    id: 'default-policy',
    title: 'The default policy makes exactly its requests of a dead receiver',
    seconds: 330,
    run: async (world, signal) => {
      const policy = { ...DEFAULT_RETRY_POLICY, ignore_subscription_override: false };
      const delivered = await deliver(world, 'default-policy', { behaviour: { status: 500 }, policy });
      const delivery = await ended(world, delivered, totalSeconds(policy) + 60, signal);
      return judgeSchedule(world, delivered, delivery, policy);
    },
  },
];

const READ_DELIVERY =
  'Keep the log of deliver of this minute, and report it: the retry policy was not followed.';

/** Compares a delivery that was never accepted with its policy: on record, and as the receiver saw it. */
function judgeSchedule(
  world: World,
  { key }: Delivered,
  delivery: Pick<DeliveryView, 'status' | 'attempts'>,
  policy: PartialRetryPolicy,
): Outcome {
  const schedule = retrySchedule(completeRetryPolicy(policy, DEFAULT_RETRY_POLICY).policy);
  const seen = world.receiver.seen(key).length;
  const faults = [
    ...findScheduleFaults(delivery, schedule),
    ...(world.isLocal ? [] : findLate(delivery)),
    ...(seen === schedule.length + 1
      ? []
      : [`the receiver saw ${seen} requests, not ${schedule.length + 1}`]),
  ];
  const latest = Math.max(0, ...delivery.attempts.map(computeLatenessMs));
  return judge(faults, `${seen} requests, the latest ${(latest / 1000).toFixed(1)} s after it was due`, LATE);
}

const LATE =
  'See the age of the retry queue and the throttles of deliver on the dashboard, and raise retryConcurrency.';

/** How a delivery differs from the schedule of its policy. */
export function findScheduleFaults(
  { status, attempts }: Pick<DeliveryView, 'status' | 'attempts'>,
  schedule: readonly Retry[],
): string[] {
  const retries = attempts.slice(1);
  return [
    ...(status === 'exhausted' ? [] : [`the delivery is ${status}`]),
    ...(retries.length === schedule.length
      ? []
      : [`${retries.length} retries were made, not ${schedule.length}`]),
    ...schedule.flatMap((planned, index) => {
      const [before, retry] = [attempts[index], retries[index]];
      return before && retry ? findRetryFaults(planned, before, retry) : [];
    }),
  ];
}

type Attempt = DeliveryView['attempts'][number];

function findRetryFaults(
  { retry: number, phase, delaySeconds }: Retry,
  before: Attempt,
  retry: Attempt,
): string[] {
  const name = `retry ${number}`;
  const waited = computeWait(before, retry);
  return [
    ...(retry.phase === phase ? [] : [`${name} is of phase ${retry.phase}, not ${phase}`]),
    // Durations are rounded to milliseconds.
    ...(waited < delaySeconds - 0.01
      ? [`${name} came ${waited.toFixed(1)} s after the attempt before it, not ${delaySeconds} s`]
      : []),
  ];
}

/** Not judged on the local AWS, which shares the processors of its machine. */
function findLate({ attempts }: Pick<DeliveryView, 'attempts'>): string[] {
  return attempts.flatMap((attempt) => {
    const late = computeLatenessMs(attempt);
    return late > LATE_MS ? [`attempt ${attempt.number} was ${(late / 1000).toFixed(1)} s late`] : [];
  });
}

/** Seconds from the end of an attempt to the start of the next. */
function computeWait(before: Attempt, retry: Attempt): number {
  return (Date.parse(retry.startedAt) - Date.parse(before.startedAt) - before.durationMs) / 1000;
}

function computeLatenessMs({ dueAt, startedAt }: Attempt): number {
  return dueAt === undefined ? 0 : Date.parse(startedAt) - Date.parse(dueAt);
}

async function isScheduleGone(
  { deployment }: World,
  { queue, message: messageId, subscription: subscriptionId }: Delivered,
  { attempts }: Pick<DeliveryView, 'attempts'>,
): Promise<true | undefined> {
  const dueAt = Date.parse(attempts[1]?.dueAt ?? '');
  const Name = scheduleName({ queue, messageId, subscriptionId, bucket: 0 }, 2, dueAt);
  const scheduler = new SchedulerClient(deployment.client);
  try {
    await scheduler.send(new GetScheduleCommand({ GroupName: deployment.scheduleGroup, Name }));
    return undefined;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return true;
    throw error;
  } finally {
    scheduler.destroy();
  }
}
