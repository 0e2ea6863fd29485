import { IAM } from '@aws-sdk/client-iam';
import { randomUUID } from 'node:crypto';
import { afterAll, expect } from 'vitest';
import {
  schedulerClient,
  schedulerRemoval,
  schedulerWakeUps,
} from '../../shared/adapters/scheduler/wake-ups.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { deployment } from '../support/deployment.ts';
import { privateQueues, type Arrival } from '../support/private-queues.ts';
import { describeWakeUpsContract } from './queues.contract.ts';

const scheduler = schedulerClient(deployment.client);
const queues = privateQueues(deployment.sqs);
afterAll(queues.deleteAll);

const wakeUpOf = ({ body, group, at }: Arrival): { value: WakeUp; at: number } => {
  const parsed = parseWork(body);
  if (!parsed.ok || parsed.value.kind !== 'wake_up') throw new Error(`not a wake-up: ${body.slice(0, 100)}`);
  // SQS's fair queues group by it, whether SQS or Scheduler sent the wake-up.
  expect(group).toBe(parsed.value.key.subscriptionId);
  return { value: parsed.value, at };
};

/** A role that may send to any queue, for Scheduler. */
const schedulerRole = async (): Promise<string> => {
  const iam = new IAM(deployment.client);
  const statement = (more: object): string =>
    JSON.stringify({ Version: '2012-10-17', Statement: { Effect: 'Allow', ...more } });
  const { Role } = await iam.createRole({
    RoleName: `private-schedules-${randomUUID()}`,
    AssumeRolePolicyDocument: statement({
      Principal: { Service: 'scheduler.amazonaws.com' },
      Action: 'sts:AssumeRole',
    }),
  });
  await iam.putRolePolicy({
    RoleName: Role?.RoleName,
    PolicyName: 'send',
    PolicyDocument: statement({ Action: 'sqs:SendMessage', Resource: '*' }),
  });
  return Role?.Arn ?? '';
};

describeWakeUpsContract('by SQS and EventBridge Scheduler', async () => {
  const [retryQueue, deadLetters] = [await queues.create(), await queues.create()];
  const settings = {
    group: deployment.endpoints.scheduleGroup,
    roleArn: await schedulerRole(),
    retryQueueUrl: retryQueue,
    deadLetterArn: await queues.arnOf(deadLetters),
  };
  return {
    wakeUps: {
      ...sqsWakeUps({
        sqs: deployment.queues,
        queueUrl: retryQueue,
        sleep: (milliseconds) => systemClock.sleep(milliseconds),
        random: Math.random,
      }),
      ...schedulerWakeUps(scheduler, settings),
      ...schedulerRemoval(scheduler, settings),
    },
    now: () => Date.now(),
    arrivals: async (count) => (await queues.arrivals(retryQueue, count)).map(wakeUpOf),
  };
});
