import { getSubscription } from '../../../../api-client/operations.ts';
import { variables } from '../../../../shared/config/resources.ts';
import { scheduleName } from '../../../../shared/domain/delivery/wake-up-plan.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { type Retry, retrySchedule, totalSeconds } from '../../../../shared/domain/retry/schedule.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { type Check, failed, judge } from '../check.ts';
import { behave, type Delivered, deliver, ended, NO_RETRIES, requests, within } from '../scenario.ts';
import type { World } from '../world.ts';

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
    run: async (world) => (await exhaust(world, 'phases', EVERY_PHASE)).outcome,
  },
  {
    id: 'scheduler',
    title: 'A long delay is kept by EventBridge Scheduler, on time, and its schedule is gone',
    seconds: 130,
    run: async (world) => {
      const delay = Number(world.settings[variables.schedulerThreshold]) + 2;
      const policy = { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: delay, maximum_delay: delay };
      const { delivered, delivery, outcome } = await exhaust(world, 'scheduler', policy);
      if (outcome.kind !== 'passed') return outcome;
      const by = delivery.attempts[1]?.by ?? 'nothing';
      if (by !== 'scheduler')
        return failed(
          `the retry after ${delay} s came by ${by}`,
          'See schedule_refused in the log of deliver.',
        );
      await within(world, { what: 'its schedule is removed' }, () =>
        isScheduleGone(world, delivered, delivery),
      );
      return outcome;
    },
  },
  {
    id: 'success',
    title: 'A success ends the retries',
    seconds: 20,
    run: async (world) => {
      const policy = { ...NO_RETRIES, minimum_delay_retries: 30 };
      const delivered = await deliver(world, 'success', { behaviour: { status: 500 }, policy });
      await requests(world, delivered, 2);
      await behave(world, delivered, { status: 200 });
      const { status, attempts } = await ended(world, delivered);
      const answers = world.receiver.seen(delivered.key).map((seen) => seen.status);
      const faults = [
        status !== 'delivered' && `the delivery is ${status}`,
        answers.slice(0, -1).includes(200) && 'a request came after the success',
        answers.length !== attempts.length &&
          `${attempts.length} attempts are on record, ${answers.length} arrived`,
      ];
      return judge(faults, `delivered by attempt ${attempts.length}, and no request after it`, READ_DELIVERY);
    },
  },
  {
    id: 'gone',
    title: '410 ends the delivery and disables the subscription',
    seconds: 15,
    run: async (world) => {
      const delivered = await deliver(world, 'gone', { behaviour: { status: 410 } });
      const { status, reason, attempts } = await ended(world, delivered);
      const { queue, subscription } = delivered;
      const { disabled } = await world.api.call(getSubscription, { path: { queue, subscription } });
      const faults = [
        (status !== 'rejected' || reason !== 'gone') && `the delivery is ${status} (${reason})`,
        attempts.length !== 1 && `${attempts.length} attempts were made`,
        disabled?.reason !== 'gone' && 'the subscription is not disabled',
      ];
      return judge(faults, 'rejected after one request, and disabled', READ_DELIVERY);
    },
  },
  {
    id: 'retry-after',
    title: 'Retry-After delays the next attempt',
    seconds: 25,
    run: async (world) => {
      const policy = { ...NO_RETRIES, minimum_delay_retries: 1, maximum_delay: 60 };
      const behaviour = { status: 500, retryAfter: 4 };
      const delivered = await deliver(world, 'retry-after', { behaviour, policy });
      const { attempts } = await ended(world, delivered);
      const [first, second] = attempts;
      if (first === undefined || second === undefined)
        return failed(`${attempts.length} attempts were made, not 2`, READ_DELIVERY);
      const waited = computeWait(first, second);
      const detail = `asked for 4 s, waited ${waited.toFixed(1)} s`;
      return judge([waited < 4 && detail], detail, READ_DELIVERY);
    },
  },
  {
    id: 'default-policy',
    title: 'The default policy makes exactly its requests of a dead receiver',
    seconds: 330,
    run: async (world) => {
      const policy = { ...DEFAULT_RETRY_POLICY, ignore_subscription_override: false };
      return (await exhaust(world, 'default-policy', policy)).outcome;
    },
  },
];

const READ_DELIVERY =
  'Keep the log of deliver of this minute, and report it: the retry policy was not followed.';

/** Delivers to a receiver that never accepts, and compares with the policy what is on record and what the receiver saw. */
async function exhaust(world: World, check: string, part: PartialRetryPolicy) {
  const { policy } = completeRetryPolicy(part, DEFAULT_RETRY_POLICY);
  const delivered = await deliver(world, check, { behaviour: { status: 500 }, policy: part });
  const delivery = await ended(world, delivered, totalSeconds(policy) + 60);
  const schedule = retrySchedule(policy);
  const seen = world.receiver.seen(delivered.key).length;
  const latest = Math.max(0, ...delivery.attempts.map(computeLatenessMs));
  const latestSeconds = (latest / 1000).toFixed(1);
  const faults = [
    ...findScheduleFaults(delivery, schedule),
    // Not judged on the local AWS, which shares the processors of its machine.
    !world.isLocal && latest > LATE_MS && `an attempt was ${latestSeconds} s late`,
    seen !== schedule.length + 1 && `the receiver saw ${seen} requests, not ${schedule.length + 1}`,
  ];
  const detail = `${seen} requests, the latest ${latestSeconds} s after it was due`;
  return { delivered, delivery, outcome: judge(faults, detail, ON_TIME) };
}

const ON_TIME =
  'See the age of the retry queue and the throttles of deliver on the dashboard, and raise retryConcurrency.';

/** How a delivery differs from the schedule of its policy. */
export function findScheduleFaults(
  { status, attempts }: Pick<DeliveryView, 'status' | 'attempts'>,
  schedule: readonly Retry[],
): string[] {
  const retries = attempts.slice(1);
  const faults = [
    status !== 'exhausted' && `the delivery is ${status}`,
    retries.length !== schedule.length && `${retries.length} retries were made, not ${schedule.length}`,
    ...schedule.flatMap((planned, index) => {
      const [before, retry] = [attempts[index], retries[index]];
      return before && retry ? findRetryFaults(planned, before, retry) : [];
    }),
  ];
  return faults.filter((fault) => fault !== false);
}

type Attempt = DeliveryView['attempts'][number];

function findRetryFaults(
  { retry: number, phase, delaySeconds }: Retry,
  before: Attempt,
  retry: Attempt,
): (string | false)[] {
  const name = `retry ${number}`;
  const waited = computeWait(before, retry);
  return [
    retry.phase !== phase && `${name} is of phase ${retry.phase}, not ${phase}`,
    // Durations are rounded to milliseconds.
    waited < delaySeconds - 0.01 &&
      `${name} came ${waited.toFixed(1)} s after the attempt before it, not ${delaySeconds} s`,
  ];
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
  const { ResourceNotFoundException, Scheduler } = await import('@aws-sdk/client-scheduler');
  const dueAt = Date.parse(attempts[1]?.dueAt ?? '');
  const Name = scheduleName({ queue, messageId, subscriptionId, bucket: 0 }, 2, dueAt);
  try {
    await new Scheduler(deployment.client).getSchedule({ GroupName: deployment.scheduleGroup, Name });
    return undefined;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return true;
    throw error;
  }
}
