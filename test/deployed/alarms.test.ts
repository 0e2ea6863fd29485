import { randomUUID } from 'node:crypto';
import { IAM } from '@aws-sdk/client-iam';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { MAX_RECEIVES, visibilityTimeout } from '../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../shared/domain/recovery/operation.ts';
import { answerOf, callApi, finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { commandEnvironment } from '../support/deployed-command.ts';
import { deployment, invoke } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { openLocalCloudWatch } from '../support/local-cloudwatch.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { commandsFrom, startShell } from '../support/runbook.ts';
import { publish, publishMany, send } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

/**
 * Eleven alarms are caused on the local AWS, and each is followed to the end of its entry in the runbook. A minute of an
 * alarm's periods takes the milliseconds given beside its name; its definition is the deployed one.
 * test/infra/alarm-thresholds.test.ts has the limits of all alarms.
 */

const { functions, operationQueueUrl, deliveryQueueUrl } = deployment.endpoints;

const receiver = await receiverOfTests();
const cloudWatch = await openLocalCloudWatch();
const shell = await startShell(commandEnvironment);

/**
 * Commands on dead letters need the deployment's name beside the URL of the API, whose host name does not resolve here. AWS
 * CLI 1 ignores AWS_ENDPOINT_URL for SQS.
 */
const FOR_LOCAL_AWS = `
posthaste() { npm run -s posthaste -- "$@" --deployment "$DEPLOYMENT"; }
aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }`;

const succeed = async (command: string, expected = 0): Promise<string> => {
  const { status, output } = await shell.run(command);
  expect(status, `${command}\n${output}`).toBe(expected);
  return output;
};

const isOver = (name: string, minuteMs: number): Promise<true> =>
  eventually(
    `the end of the alarm ${name}`,
    async () => !(await cloudWatch.isAlarm(name, minuteMs)) || undefined,
  );

type Cause = { cause?: () => Promise<unknown>; meanwhile?: () => Promise<unknown> };

/** Causes an alarm that is not raised, and waits until it is, while `meanwhile` happens again and again. */
const raised = async (name: string, minuteMs: number, { cause, meanwhile }: Cause) => {
  await isOver(name, minuteMs);
  await cause?.();
  return whenRaised(name, minuteMs, meanwhile);
};

const whenRaised = async (name: string, minuteMs: number, meanwhile?: () => Promise<unknown>) => {
  await eventually(`the alarm ${name}`, async () => {
    await meanwhile?.();
    return (await cloudWatch.isAlarm(name, minuteMs)) || undefined;
  });
  const [, anchor = ''] = /Runbook: docs\/operations\.md#(\S+)$/.exec(cloudWatch.descriptionOf(name)) ?? [];
  const printed = [...commandsFrom(anchor)];
  return {
    /** Runs a command to which the runbook's entry leads. `filledIn`: with other names, or without `--dry-run`. */
    follow: (command: string, { filledIn = command, status = 0 } = {}): Promise<string> => {
      expect(printed).toContain(command);
      return succeed(filledIn, status);
    },
    end: () => isOver(name, minuteMs),
  };
};

/** Three subscribers of each queue fail with this status. */
const FAILURES = { demo: 500, rejecting: 400 } as const;
const FAILING = ['hopeless', 'flaky', 'broken'];

type FailingQueue = keyof typeof FAILURES;

const answer = (queue: FailingQueue, status: number): void => {
  for (const name of FAILING) receiver.script(`/${queue}/${name}`, [{ status }]);
};

const SILENT = ['ReconcileSilent', 15_000] as const;

const RECONCILE_RULE = `aws events list-rules --query "Rules[?contains(Description || '', 'runs reconcile')].Name" --output text`;

const ENABLE_MAPPING = 'aws lambda update-event-source-mapping --enabled --uuid';

/** Runs what doctor printed: this command, with the names of the deployment. */
const followDoctor = async (findings: string, command: string): Promise<void> => {
  const [advised] = new RegExp(`${command} \\S+`).exec(findings) ?? [];
  if (advised === undefined) throw new Error(`doctor does not say ${command}: ${findings}`);
  await succeed(advised);
};

beforeAll(async () => {
  await succeed(FOR_LOCAL_AWS);
  // The setup of the deployed tests shortens the visibility timeout, with which doctor would find fault.
  await changeOperationQueue({ maxReceiveCount: MAX_RECEIVES }, visibilityTimeout(OPERATE_TIMEOUT_SECONDS));
  // What takes minutes begins before the other alarms: reconcile stops, and subscriptions begin to fail.
  await invoke(functions.reconcile);
  await isOver(...SILENT);
  await succeed(`aws events disable-rule --name ${(await succeed(RECONCILE_RULE)).trim()}`);
  for (const queue of ['demo', 'rejecting'] as const) {
    answer(queue, FAILURES[queue]);
    await putQueue(queue, NO_RETRIES);
    for (const name of FAILING) await subscribe(queue, receiver.url(`/${queue}/${name}`));
    await publish({ queue, id: 'first', data: 1 });
  }
});

afterAll(async () => {
  shell.stop();
  await cloudWatch.stop();
});

describe('the runbook leads to the end of the alarm', () => {
  it('IngressDeadLetters, after a producer mistyped a queue', async () => {
    const { queue, path } = await subscribedQueue(receiver);
    const { follow, end } = await raised('IngressDeadLetters', 2_000, {
      cause: () => publish({ queue: 'dmeo', id: 'mistyped', data: 1 }),
    });
    expect(await follow('posthaste deadletters list ingress')).toContain('unknown_queue');
    const redrive = 'posthaste redrive ingress --queue dmeo --to-queue demo --dry-run';
    const corrected = redrive.replace('--to-queue demo', `--to-queue ${queue}`);
    await follow(redrive, { filledIn: corrected });
    expect(receiver.received(path)).toEqual([]);
    await follow(redrive, { filledIn: corrected.replace(' --dry-run', '') });
    await end();
    await isDelivered(queue, 'mistyped');
  });

  it('DeliveryDeadLetters, after a stranger sent to the delivery queue', async () => {
    const { follow, end } = await raised('DeliveryDeadLetters', 2_000, {
      cause: () => send(deliveryQueueUrl, 'no job'),
    });
    expect(await follow('posthaste deadletters list delivery')).toContain('not_json');
    const deletion = 'posthaste deadletters delete delivery --reason not_json --dry-run';
    await follow(deletion);
    await follow(deletion, { filledIn: deletion.replace('--dry-run', '--yes') });
    await end();
  });

  it('OperationDeadLetters, after operate had lost a permission: the recovery goes on', async () => {
    const { queue, path } = await subscribedQueue(receiver, {
      policy: NO_RETRIES,
      answers: [{ status: 500 }],
    });
    await publish({ queue, id: 'm', data: 1 });
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });
    receiver.script(path, [{ status: 200 }]);
    const role = await roleNamed('PipelineOperateRole');
    await role.write(role.policy.replaceAll('dynamodb:', 'dynamodb-lost:'));
    // One receive is enough, not a hundred.
    const restore = await changeOperationQueue({ maxReceiveCount: 1 }, 5);
    const { follow, end } = await raised('OperationDeadLetters', 2_000, { cause: () => recover(queue) });
    expect(await follow('posthaste deadletters list operation')).toContain('none');
    expect(await succeed('posthaste doctor', 1)).toMatch(/PipelineOperateRole\w+ lacks dynamodb:/);
    await role.write(role.policy);
    await restore();
    await follow('posthaste redrive operation');
    await end();
    await isDelivered(queue, 'm');
  });

  it("IngressStalled, after dispatch's mapping was paused", async () => {
    const { queue } = await subscribedQueue(receiver);
    const { follow, end } = await raised('IngressStalled', 2_000, {
      cause: async () => {
        await pauseMapping('Ingress');
        await publish({ queue, id: 'waiting', data: 1 });
      },
    });
    const findings = await follow('posthaste doctor', { status: 1 });
    await followDoctor(findings, ENABLE_MAPPING);
    await end();
    await isDelivered(queue, 'waiting');
  });

  it("DeliveryStalled, after a mapping of deliver's was paused", async () => {
    const { queue } = await subscribedQueue(receiver);
    const { follow, end } = await raised('DeliveryStalled', 2_000, {
      cause: async () => {
        await pauseMapping('Delivery');
        await publish({ queue, id: 'waiting', data: 1 });
      },
    });
    const findings = await follow('posthaste doctor', { status: 1 });
    await followDoctor(findings, ENABLE_MAPPING);
    await end();
    await isDelivered(queue, 'waiting');
  });

  it('Faults, after the key of the secrets was disabled', async () => {
    const { queue } = await subscribedQueue(receiver);
    const sent: string[] = [];
    const { follow, end } = await raised('Faults', 3_000, {
      cause: () => succeed('aws kms disable-key --key-id "$(output State SecretsKeyArn)"'),
      meanwhile: async () => {
        const id = randomUUID();
        await publish({ queue, id, data: 1 });
        sent.push(id);
      },
    });
    const unopened = { 'error.name': 'UnopenedSecretError', 'error.cause.name': 'DisabledException' };
    expect(await cloudWatch.groupsOf('internal errors')).toContainEqual(expect.objectContaining(unopened));
    await follow('aws kms enable-key --key-id "$(output State SecretsKeyArn)"');
    await end();
    for (const id of sent) await isDelivered(queue, id);
  });

  it('ApiThrottles, after the reserved concurrency of the API was set to 0', async () => {
    const ofApi = (command: string): string => command.replace('DispatchFunction', 'ApiFunction');
    const look = 'aws lambda get-function-concurrency --function-name "$(output Pipeline DispatchFunction)"';
    const stop = ofApi(look).replace('get-', 'put-').concat(' --reserved-concurrent-executions 0');
    const { follow, end } = await raised('ApiThrottles', 2_000, {
      cause: () => succeed(stop),
      meanwhile: () => callApi('GET', '/v2/queues'),
    });
    expect(await follow(look, { filledIn: ofApi(look) })).toContain('"ReservedConcurrentExecutions": 0');
    const removal = look.replace('get-', 'delete-');
    await follow(removal, { filledIn: ofApi(removal) });
    await end();
    expect((await callApi('GET', '/v2/queues')).status).toBe(200);
  });

  it('ReconcileSilent, after its rule was disabled', async () => {
    const { follow, end } = await whenRaised(...SILENT);
    const findings = await follow('posthaste doctor', { status: 1 });
    await followDoctor(findings, 'aws events enable-rule --name');
    await end();
  });

  it("SchedulerDeadLetters, after Scheduler's role had lost a permission: the retry comes all the same", async () => {
    const policy = { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: 6, maximum_delay: 6 };
    const answers = [{ status: 500 }, { status: 200 }] as const;
    const { queue } = await subscribedQueue(receiver, { policy, answers });
    const role = await roleNamed('PipelineSchedulesRole');
    const { follow, end } = await raised('SchedulerDeadLetters', 2_000, {
      cause: async () => {
        await role.write(role.policy.replaceAll('PipelineRetryQueue', 'AnotherQueue'));
        await publish({ queue, id: 'm', data: 1 });
      },
    });
    await follow('QUEUE=$(output Pipeline SchedulerDeadLetterUrl)');
    const look =
      'aws sqs receive-message --queue-url "$QUEUE" --message-attribute-names All --visibility-timeout 0';
    expect(await follow(look)).toMatch(
      /is not authorized to perform sqs:SendMessage on \S+PipelineRetryQueue/,
    );
    await role.write(role.policy);
    await follow('aws sqs purge-queue --queue-url "$QUEUE"');
    await end();
    await isDelivered(queue, 'm');
  });

  it('DeliveriesDoNotFlow, after three subscribers failed', async () => {
    const { follow, end } = await raised('DeliveriesDoNotFlow', 20_000, { meanwhile: () => fail('demo') });
    await follow('posthaste doctor');
    expect(await failingGroups('demo')).toBe(3);
    answer('demo', 200);
    await follow('posthaste recover start demo --since 6h --wait');
    await end();
    expect(await endedAs('demo', 'exhausted')).toEqual([]);
  });

  it('UndeliverableRate, after three subscribers rejected everything', async () => {
    const { follow, end } = await raised('UndeliverableRate', 20_000, { meanwhile: () => fail('rejecting') });
    expect(await follow('posthaste deadletters list undeliverable')).toContain('rejected');
    expect(await failingGroups('rejecting')).toBe(3);
    answer('rejecting', 200);
    const redrive = 'posthaste redrive undeliverable --queue demo --since 1d';
    await follow(redrive, { filledIn: redrive.replace('demo', 'rejecting') });
    await end();
    expect(await endedAs('rejecting', 'rejected')).toEqual([]);
  });
});

const isDelivered = async (queue: string, id: string): Promise<void> => {
  await eventually(`the delivery of ${id}`, async () => {
    const { status } = await finishedDelivery(queue, id);
    return status === 'delivered' || undefined;
  });
};

/** Pauses the mapping of a queue to the function that consumes it. */
const pauseMapping = async (queue: 'Ingress' | 'Delivery'): Promise<void> => {
  const found = `EventSourceMappings[?contains(EventSourceArn, '${queue}Queue')].UUID`;
  const UUID = await succeed(`aws lambda list-event-source-mappings --query "${found}" --output text`);
  await succeed(`aws lambda update-event-source-mapping --no-enabled --uuid ${UUID.trim()}`);
};

const recover = async (queue: string): Promise<unknown> => {
  const window = { since: new Date(Date.now() - 3_600_000).toISOString(), until: new Date().toISOString() };
  return answerOf('POST', `/v2/queues/${queue}/recoveries`, window);
};

/** Ten messages to three subscribers that fail. */
const fail = (queue: FailingQueue): Promise<void> => publishMany(queue, 10, { prefix: randomUUID() });

/** How many subscriptions of a queue the saved query names. */
const failingGroups = async (name: string): Promise<number> => {
  const groups = await cloudWatch.groupsOf('failing subscriptions');
  const found = groups.filter(({ queue }) => queue === name);
  return new Set(found.map(({ subscriptionId }) => subscriptionId)).size;
};

const page = z.object({ deliveries: z.array(z.unknown()) });

/** The deliveries with a status, on the first page. */
const endedAs = async (queue: string, status: string): Promise<unknown[]> =>
  page.parse(await answerOf('GET', `/v2/queues/${queue}/deliveries?status=${status}`)).deliveries;

/** The policy of a role whose name has this part, and how to replace it. */
const roleNamed = async (part: string) => {
  const iam = new IAM(deployment.client);
  const { Roles = [] } = await iam.listRoles({});
  const RoleName = Roles.find((role) => role.RoleName?.includes(part))?.RoleName;
  const { PolicyNames: [PolicyName] = [] } = await iam.listRolePolicies({ RoleName });
  const { PolicyDocument = '' } = await iam.getRolePolicy({ RoleName, PolicyName });
  return {
    policy: decodeURIComponent(PolicyDocument),
    write: (document: string) => iam.putRolePolicy({ RoleName, PolicyName, PolicyDocument: document }),
  };
};

/** Changes the queue of operations. Returns how to change it back. */
const changeOperationQueue = async (redrive: { maxReceiveCount: number }, seconds: number) => {
  const queue = { QueueUrl: operationQueueUrl };
  const { Attributes: { RedrivePolicy = '{}', VisibilityTimeout = '' } = {} } =
    await deployment.sqs.getQueueAttributes({ ...queue, AttributeNames: ['All'] });
  const changed = JSON.stringify({ ...(JSON.parse(RedrivePolicy) as object), ...redrive });
  await deployment.sqs.setQueueAttributes({
    ...queue,
    Attributes: { RedrivePolicy: changed, VisibilityTimeout: String(seconds) },
  });
  return () =>
    deployment.sqs.setQueueAttributes({ ...queue, Attributes: { RedrivePolicy, VisibilityTimeout } });
};
