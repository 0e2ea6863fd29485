import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { describe, expect, it } from 'vitest';
import {
  eventBridgeOperatorEvents,
  EventRefusedError,
} from '../../../shared/adapters/eventbridge/operator-events.ts';
import { schedulerWakeUps } from '../../../shared/adapters/scheduler/wake-ups.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsWakeUps } from '../../../shared/adapters/sqs/queues.ts';
import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import { encodeWakeUp } from '../../../shared/wire/jobs/delivery-job.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { fault, ok, serviceThat } from './service.ts';

const wakeUp: WakeUp = {
  kind: 'wake_up',
  key: { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 },
  attempt: 3,
  dueAt: Date.UTC(2026, 0, 2, 3, 5, 10, 700),
};

const settings = {
  group: 'retries',
  roleArn: 'arn:aws:iam::000000000000:role/scheduler',
  retryQueueUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/retry',
  deadLetterArn: 'arn:aws:sqs:us-east-1:000000000000:scheduler-dead-letters',
};

describe('a wake-up by SQS', () => {
  const retryQueueThat = async (answer: StubAnswer) => {
    const { config, sent } = await serviceThat(answer);
    const target = { sqs: sqsClient(config), queueUrl: settings.retryQueueUrl, random: () => 0 };
    const sleep = () => Promise.reject(new Error('nothing to wait for'));
    return { wakeUps: sqsWakeUps({ ...target, sleep }), sent };
  };

  it('goes to the retry queue grouped by its subscription, with its delay', async () => {
    const { wakeUps, sent } = await retryQueueThat(ok({ Successful: [{ Id: '0' }] }));
    for (const delay of [0, 89, 900]) await wakeUps.sendDelayed(wakeUp, delay);
    expect(sent()).toEqual(
      [0, 89, 900].map((DelaySeconds) => ({
        QueueUrl: settings.retryQueueUrl,
        Entries: [{ Id: '0', MessageBody: encodeWakeUp(wakeUp), DelaySeconds, MessageGroupId: 's-1' }],
      })),
    );
  });

  it('that could not be sent is an error', async () => {
    const { wakeUps } = await retryQueueThat(fault(500, 'InternalError'));
    await expect(wakeUps.sendDelayed(wakeUp, 1)).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      message: expect.stringMatching(/: InternalError$/) as unknown,
    });
  });
});

describe('a wake-up by EventBridge Scheduler', () => {
  const scheduleBy = async (answer: StubAnswer, at = Date.UTC(2026, 0, 2, 3, 4, 5, 1)) => {
    const stub = await serviceThat(answer);
    const wakeUps = schedulerWakeUps(new SchedulerClient(stub.config), settings);
    return { stub, result: await wakeUps.schedule('hash-3-1767323110700', at, wakeUp) };
  };

  it('is one schedule, in UTC at the next full second, that deletes itself', async () => {
    const { stub, result } = await scheduleBy(ok({ ScheduleArn: 'arn' }));
    expect(result).toBe('scheduled');
    expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /schedules/hash-3-1767323110700',
    ]);
    expect(stub.sent()).toEqual([
      {
        GroupName: 'retries',
        ClientToken: 'hash-3-1767323110700',
        ScheduleExpression: 'at(2026-01-02T03:04:06)',
        ScheduleExpressionTimezone: 'UTC',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: {
          Arn: 'arn:aws:scheduler:::aws-sdk:sqs:sendMessage',
          RoleArn: settings.roleArn,
          Input: JSON.stringify({
            QueueUrl: settings.retryQueueUrl,
            MessageBody: encodeWakeUp(wakeUp),
            MessageGroupId: wakeUp.key.subscriptionId,
          }),
          DeadLetterConfig: { Arn: settings.deadLetterArn },
          RetryPolicy: { MaximumEventAgeInSeconds: 21_600, MaximumRetryAttempts: 185 },
        },
      },
    ]);
  });

  it('due on a full second is scheduled for that second', async () => {
    const { stub } = await scheduleBy({}, Date.UTC(2026, 0, 2, 3, 4, 5));
    expect(stub.requests[0]?.body).toContain('at(2026-01-02T03:04:05)');
  });

  it('whose name is taken counts as scheduled', async () => {
    expect((await scheduleBy(fault(409, 'ConflictException'))).result).toBe('scheduled');
  });

  it.each<[string, StubAnswer]>([
    ['throttled', fault(429, 'ThrottlingException')],
    ['throttled with another status', fault(400, 'ThrottlingException')],
    ['throttled without a name', fault(429, 'TooMany')],
    ['over quota', fault(402, 'ServiceQuotaExceededException')],
    ['an error of the service', fault(500, 'InternalServerException')],
    ['not from the service', { status: 503, headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['a broken connection', 'hang_up'],
  ])('returns "refused" and does not throw: %s', async (_name, answer) => {
    expect((await scheduleBy(answer)).result).toBe('refused');
  });

  it('returns "refused" if the service is not reachable or does not answer in time', async () => {
    const { config, close } = await serviceThat('silence');
    const requestHandler = new NodeHttpHandler({ requestTimeout: 50, throwOnRequestTimeout: true });
    const slow = schedulerWakeUps(new SchedulerClient({ ...config, requestHandler }), settings);
    expect(await slow.schedule('name', 0, wakeUp)).toBe('refused');
    await close();
    expect(await slow.schedule('name', 0, wakeUp)).toBe('refused');
  });

  it.each([
    ['invalid', 400, 'ValidationException'],
    ['not permitted', 403, 'AccessDeniedException'],
    ['in a missing group', 404, 'ResourceNotFoundException'],
  ])('that can never succeed throws: %s', async (_name, status, name) => {
    await expect(scheduleBy(fault(status, name))).rejects.toMatchObject({ name });
  });
});

describe('an operator event', () => {
  const publish = async (answer: StubAnswer) => {
    const { sent, config } = await serviceThat(answer);
    const bus = { busName: 'operator-bus', deployment: 'Posthaste' };
    const ids = { queue: 'orders', subscriptionId: 's-1' };
    await eventBridgeOperatorEvents(new EventBridgeClient(config), bus).publish({
      type: 'subscription.failing',
      ...ids,
      since: 0,
      failures: 20,
    });
    return sent();
  };

  it('is put on the bus of the deployment, with the source posthaste', async () => {
    expect(await publish(ok({ FailedEntryCount: 0, Entries: [{ EventId: 'e-1' }] }))).toEqual([
      {
        Entries: [
          {
            EventBusName: 'operator-bus',
            Source: 'posthaste',
            DetailType: 'subscription.failing',
            Detail:
              '{"deployment":"Posthaste","queue":"orders","subscriptionId":"s-1","since":"1970-01-01T00:00:00.000Z","failures":20}',
          },
        ],
      },
    ]);
  });

  it('that the bus refused in a successful response, or that EventBridge failed, is an error', async () => {
    const refused = ok({ FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] });
    const error = new EventRefusedError('subscription.failing', 'ThrottlingException');
    await expect(publish(refused)).rejects.toThrow(error);
    await expect(publish(fault(500, 'InternalException'))).rejects.toMatchObject({
      name: 'InternalException',
    });
  });
});
