import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  eventBridgeOperatorEvents,
  EventRefusedError,
} from '../../../shared/adapters/eventbridge/operator-events.ts';
import { schedulerWakeUps } from '../../../shared/adapters/scheduler/wake-ups.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsWakeUps } from '../../../shared/adapters/sqs/queues.ts';
import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import { encodeWakeUp } from '../../../shared/wire/jobs/delivery-job.ts';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';

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

const stubThat = async (answer: StubAnswer) => {
  const stub = await awsStub(() => answer);
  onTestFinished(stub.close);
  return stub;
};

const fault = (status: number, name: string): StubAnswer => ({
  status,
  headers: { 'x-amzn-errortype': name, 'content-type': 'application/json' },
  body: JSON.stringify({ Message: 'from the test' }),
});

describe('a wake-up by SQS', () => {
  const retryQueueThat = async (answer: StubAnswer) => {
    const { config, requests } = await stubThat(answer);
    const queueUrl = `${config.endpoint}/000000000000/retry`;
    const sleep = () => Promise.reject(new Error('nothing to wait for'));
    const wakeUps = sqsWakeUps({ sqs: sqsClient(config), queueUrl, sleep, random: () => 0 });
    return { wakeUps, queueUrl, requests };
  };

  it('goes to the retry queue grouped by its subscription, with whole seconds up to 900', async () => {
    const body = JSON.stringify({ Successful: [{ Id: '0' }] });
    const { wakeUps, queueUrl, requests } = await retryQueueThat({ body });
    for (const delay of [0, 0.1, 89, 900, 901]) await wakeUps.sendDelayed(wakeUp, delay);
    const sent = requests.map((request) => JSON.parse(request.body) as unknown);
    expect(sent).toEqual(
      [0, 1, 89, 900, 900].map((DelaySeconds) => ({
        QueueUrl: queueUrl,
        Entries: [{ Id: '0', MessageBody: encodeWakeUp(wakeUp), DelaySeconds, MessageGroupId: 's-1' }],
      })),
    );
  });

  it('that could not be sent is an error', async () => {
    const { wakeUps } = await retryQueueThat(fault(500, 'InternalError'));
    await expect(wakeUps.sendDelayed(wakeUp, 1)).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      codes: ['InternalError'],
    });
  });
});

describe('a wake-up by EventBridge Scheduler', () => {
  const scheduleBy = async (answer: StubAnswer, at = Date.UTC(2026, 0, 2, 3, 4, 5, 1)) => {
    const stub = await stubThat(answer);
    const wakeUps = schedulerWakeUps(new SchedulerClient(stub.config), settings);
    return { stub, result: await wakeUps.schedule('hash-3-1767323110700', at, wakeUp) };
  };

  it('is one schedule, in UTC at the next full second, that deletes itself', async () => {
    const { stub, result } = await scheduleBy({ body: JSON.stringify({ ScheduleArn: 'arn' }) });
    expect(result).toBe('scheduled');
    expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /schedules/hash-3-1767323110700',
    ]);
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toEqual({
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
    });
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
    [
      'a response that is not from the service',
      { status: 503, headers: { 'content-type': 'text/html' }, body: '<html>' },
    ],
    ['a broken connection', 'hang_up'],
  ])('returns "refused" and does not throw: %s', async (_name, answer) => {
    expect((await scheduleBy(answer)).result).toBe('refused');
  });

  it('returns "refused" if the service is not reachable or does not answer in time', async () => {
    const stub = await awsStub(() => 'hang_up');
    await stub.close();
    const deaf = schedulerWakeUps(new SchedulerClient(stub.config), settings);
    expect(await deaf.schedule('name', 0, wakeUp)).toBe('refused');

    const { config } = await stubThat('silence');
    const requestHandler = new NodeHttpHandler({ requestTimeout: 50, throwOnRequestTimeout: true });
    const slow = schedulerWakeUps(new SchedulerClient({ ...config, requestHandler }), settings);
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

const publishing = async (answer: StubAnswer) => {
  const { requests, config } = await stubThat(answer);
  const events = eventBridgeOperatorEvents(new EventBridgeClient(config), {
    busName: 'operator-bus',
    deployment: 'Posthaste',
  });
  const published = events.publish({
    type: 'subscription.failing',
    queue: 'orders',
    subscriptionId: 's-1',
    since: 0,
    failures: 20,
  });
  return { published, requests };
};

const accepted = { FailedEntryCount: 0, Entries: [{ EventId: 'e-1' }] };

describe('an operator event', () => {
  it('is put on the bus of the deployment, with the source posthaste', async () => {
    const { published, requests } = await publishing({ body: JSON.stringify(accepted) });
    await published;
    expect(requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
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

  it('that the bus refused in a successful response is reported as an error', async () => {
    const refused = { FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] };
    const { published } = await publishing({ body: JSON.stringify(refused) });
    await expect(published).rejects.toThrow(
      new EventRefusedError('subscription.failing', 'ThrottlingException'),
    );
  });

  it('that EventBridge failed is reported as an error', async () => {
    const { published } = await publishing({ status: 500, body: '{"__type":"InternalException"}' });
    await expect(published).rejects.toMatchObject({ name: 'InternalException' });
  });
});
