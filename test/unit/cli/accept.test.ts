import type { GetMetricDataInput } from '@aws-sdk/client-cloudwatch';
import { createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type Check,
  failed,
  judge,
  notShown,
  passed,
  Refuted,
  type Result,
  runChecks,
} from '../../../cli/commands/accept/check.ts';
import {
  computeMillionCost,
  describeBill,
  loadChecks,
  readQuantities,
} from '../../../cli/commands/accept/checks/load.ts';
import { producerChecks } from '../../../cli/commands/accept/checks/producer.ts';
import { describeDrift, readOnlyChecks } from '../../../cli/commands/accept/checks/read-only.ts';
import { findScheduleFaults } from '../../../cli/commands/accept/checks/retries.ts';
import { behavingUrl, KEY_HEADER, receive } from '../../../functions/acceptance/receiver.ts';
import { junitReport, resultJson, resultText, summaryText } from '../../../cli/commands/accept/report.ts';
import { readStacks } from '../../../cli/commands/accept/stacks.ts';
import { createUndoList, type World } from '../../../cli/commands/accept/world.ts';
import type { Deployment } from '../../../cli/deployment.ts';
import { builtInPrices } from '../../../cli/commands/plan/prices.ts';
import { signatureHeader } from '../../../shared/domain/delivery/webhook-request.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';

const result = (outcome: Result['outcome']): Result => ({
  id: 'one',
  title: 'A title',
  outcome,
  seconds: 1.5,
});

const PASSED = result(passed('seen'));
const FAILED = result(failed('a <b> & "c"', 'do \u001b[2J this'));
const NOT_SHOWN = result(notShown('no quotas'));

describe('the report of accept', () => {
  it('says of a failure what to do, and acts on no character of it', () => {
    expect(resultText(FAILED)).toMatch(/^FAILED .*\n.*a <b>.*\n.*→ do \\u001b\[2J this$/);
    expect(resultText(NOT_SHOWN)).toMatch(/^not shown here .*\n.*no quotas/);
    expect(summaryText([PASSED, PASSED, FAILED, NOT_SHOWN])).toBe(
      '2 checks passed, 1 failed, 1 not shown here.',
    );
  });

  it('has a line of JSON for each check', () => {
    expect(resultJson(FAILED)).toMatchObject({ check: 'one', state: 'failed', advice: FAILED_ADVICE });
    expect(resultJson(NOT_SHOWN)).toMatchObject({ state: 'notShown', reason: 'no quotas' });
  });

  it('is XML for CI, with markup escaped and what is not shown as skipped', () => {
    const xml = junitReport([PASSED, FAILED, NOT_SHOWN]);
    expect(xml).toContain('tests="3" failures="1" skipped="1"');
    expect(xml).toContain('<failure message="a &lt;b&gt; &amp; &quot;c&quot;">do \\u001b[2J this</failure>');
    expect(xml).toContain('<skipped message="no quotas"/>');
  });
});

const FAILED_ADVICE = 'do \u001b[2J this';

describe('the receiver of accept', () => {
  const path = new URL(behavingUrl('http://127.0.0.1/', 'k', { status: 503, retryAfter: 4 }));
  const secret = Buffer.alloc(32, 7);
  const shared = createSecretKey(secret);
  const timestamp = Math.floor(Date.now() / 1000);
  const body = Buffer.from('{"data":"é"}');
  const signature = signatureHeader([{ scheme: 'v1', key: shared }], { id: 'm', timestamp, body });
  const received = (key: string | undefined, sent = body) =>
    receive(
      {
        path: path.pathname + path.search,
        headers: {
          'webhook-id': 'm',
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signature,
          [KEY_HEADER]: key,
        },
        body: sent,
      },
      1,
    );

  it('answers as its URL says', () => {
    const { answer, seen } = received(undefined);
    expect(answer).toEqual({ status: 503, headers: { 'retry-after': '4' } });
    expect(seen).toMatchObject({ key: 'k', messageId: 'm', startedAt: timestamp * 1000, bytes: 13 });
  });

  it('verifies the signature with the key that the request brings', () => {
    const key = `whsec_${secret.toString('base64')}`;
    expect(received(key).seen.signature).toBe('valid');
    expect(received(key, Buffer.from('other')).seen.signature).not.toBe('valid');
    expect(received('whsec_AAAA').seen.signature).not.toBe('valid');
    expect(received('no key').seen.signature).not.toBe('valid');
    expect(received(undefined).seen.signature).toBe('the request brings no key');
  });
});

describe('the end of a run', () => {
  it('removes in the reverse order, goes on after a failure, and says how to remove what is left', async () => {
    const undo = createUndoList();
    const removed: string[] = [];
    const add = (what: string, fails = false): void => {
      undo.add({
        what,
        command: `remove ${what}`,
        remove: () => (fails ? Promise.reject(new Error('refused')) : Promise.resolve(removed.push(what))),
      });
    };
    add('first');
    add('second', true);
    add('third');
    add('first');
    expect(await undo.removeAll()).toEqual({
      removed: 2,
      left: [{ what: 'second', command: 'remove second', reason: 'refused' }],
    });
    expect(removed).toEqual(['third', 'first']);
    expect(await undo.removeAll()).toEqual({ removed: 0, left: [] });
  });
});

describe('the checks of a run', () => {
  // The checks of these tests look at nothing.
  const world = z.custom<World>().parse({ isLocal: true });
  const check = (id: string, run: () => Promise<Result['outcome']>, alone = false): Check => ({
    id,
    title: id,
    seconds: 1,
    run,
    ...(alone && { alone: true as const }),
  });
  const running = async (checks: readonly Check[], signal = new AbortController().signal) => {
    const told: string[] = [];
    const results = await runChecks({ ...world, signal }, checks, ({ id }) => told.push(id));
    return { told, outcomes: Object.fromEntries(results.map(({ id, outcome }) => [id, outcome])) };
  };

  it('have failed if they throw, and are not shown if a permission is missing', async () => {
    const denied = Object.assign(new Error('no'), { name: 'AccessDeniedException' });
    const { outcomes } = await running([
      check('refuted', () => Promise.reject(new Refuted('seen', 'do this'))),
      check('thrown', () => Promise.reject(new Error('broken'))),
      check('denied', () => Promise.reject(denied)),
    ]);
    expect(outcomes).toMatchObject({
      refuted: { kind: 'failed', detail: 'seen', advice: 'do this' },
      thrown: { kind: 'failed', detail: 'broken' },
      denied: { kind: 'notShown' },
    });
  });

  it('run side by side, and after them those that need to be alone', async () => {
    const first = Promise.withResolvers<Result['outcome']>();
    const { told } = await running([
      check('alone', () => Promise.resolve(passed('')), true),
      check('waits', () => first.promise),
      check('frees', () => {
        first.resolve(passed(''));
        return Promise.resolve(passed(''));
      }),
    ]);
    expect(told.at(-1)).toBe('alone');
    expect(told).toHaveLength(3);
  });

  it('give no results once they are interrupted', async () => {
    const stopping = new AbortController();
    const interrupted = check('one', () => {
      stopping.abort();
      return Promise.resolve(passed(''));
    });
    await expect(running([interrupted], stopping.signal)).rejects.toThrow('aborted');
  });

  it('name five faults, and count the others', () => {
    expect(judge(['a', 'b', 'c', 'd', 'e', 'f', 'g'], '', 'fix it')).toEqual(
      failed('a; b; c; d; e; and 2 more', 'fix it'),
    );
    expect(judge([], 'fine', 'fix it')).toEqual(passed('fine'));
  });
});

describe('a check with the role of a producer', () => {
  const outcome = async (stack: StubAnswer) => {
    const denied = {
      status: 403,
      body: '<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>',
    };
    const aws = await awsStub(({ body }) => (body.includes('Action=AssumeRole') ? denied : stack));
    const world = z.custom<World>().parse({
      name: 'Shop',
      deployment: { client: aws.config },
      access: { apiUrl: `${aws.config.endpoint}/api` },
      isLocal: true,
    });
    const [check] = producerChecks;
    const found = await check?.run(world);
    await aws.close();
    return found;
  };

  it('says what to deploy if there is no such role', async () => {
    const missing =
      '<ErrorResponse><Error><Code>ValidationError</Code><Message>does not exist</Message></Error></ErrorResponse>';
    expect(await outcome({ status: 400, body: missing })).toMatchObject({
      kind: 'notShown',
      reason: expect.stringContaining('with -c ingressQueueUrl=') as string,
    });
  });

  it('names the role that the caller cannot assume', async () => {
    const member = '<member><OutputKey>ProducerRoleArn</OutputKey><OutputValue>arn:p</OutputValue></member>';
    const stacks = `<Stacks><member><Outputs>${member}</Outputs></member></Stacks>`;
    const body = `<DescribeStacksResponse><DescribeStacksResult>${stacks}</DescribeStacksResult></DescribeStacksResponse>`;
    expect(await outcome({ body })).toEqual(notShown('your credentials cannot assume arn:p: not you'));
  });
});

it('a load of more deliveries than a call of a function has room for arguments is measured', async () => {
  const load = 150_000;
  const at = Date.now() + 60_000;
  const world = z.custom<World>().parse({
    ...{ load, isLocal: true, prefix: 'accept-1', signal: new AbortController().signal },
    deployment: { name: 'Shop' },
    undo: { add: () => undefined },
    api: {
      call: () => Promise.resolve({ subscription_id: 's' }),
      items: () => Promise.resolve({ items: [], more: false }),
    },
    publisher: { publishBatch: () => Promise.resolve([]) },
    receiver: {
      url: 'http://127.0.0.1/',
      seen: () => Array.from({ length: load }, (_, index) => ({ messageId: String(index), at })),
    },
  });
  const [check] = loadChecks;
  expect(await check?.run(world)).toMatchObject({
    kind: 'passed',
    detail: expect.stringMatching(/^150000 deliveries in (?:59|60)\.\d s/) as string,
  });
});

describe('the stacks of a deployment', () => {
  const PRODUCER = { PolicyName: 'P', PolicyDocument: { Statement: [] }, Roles: ['imported'] };
  const RESOURCES = {
    WebhooksPipelineDispatchFunctionA1B2C3D4: { Type: 'AWS::Lambda::Function' },
    OrdersFunctionA1B2C3D4: { Type: 'AWS::Lambda::Function' },
    ProducerPolicyA1B2C3D4: { Type: 'AWS::IAM::Policy', Properties: PRODUCER },
  };
  const output = (key: string, value: string) =>
    `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`;
  const stack = (name: string, ...outputs: string[]) =>
    `<member><StackName>${name}</StackName><Outputs>${outputs.join('')}</Outputs></member>`;
  const read = async (...stacks: string[]) => {
    const summaries = Object.entries(RESOURCES).map(
      ([id, { Type }]) =>
        `<member><LogicalResourceId>${id}</LogicalResourceId><ResourceType>${Type}</ResourceType></member>`,
    );
    const results: Readonly<Record<string, string>> = {
      DescribeStacks: `<Stacks>${stacks.join('')}</Stacks>`,
      GetTemplate: `<TemplateBody>${JSON.stringify({ Resources: RESOURCES })}</TemplateBody>`,
      ListStackResources: `<StackResourceSummaries>${summaries.join('')}</StackResourceSummaries>`,
    };
    const aws = await awsStub(({ body }) => {
      const action = new URLSearchParams(body).get('Action') ?? '';
      return {
        body: `<${action}Response><${action}Result>${results[action]}</${action}Result></${action}Response>`,
      };
    });
    const given = { client: aws.config, ingressQueueUrl: 'https://sqs/ingress', subscriptionsTable: 't' };
    const found = await readStacks(z.custom<Deployment>().parse(given));
    await aws.close();
    return {
      stacks: [...found.prefixes.keys()].toSorted(),
      functions: found.ofType('AWS::Lambda::Function').map(({ logicalId }) => logicalId),
      policies: found.ofType('AWS::IAM::Policy').map(({ logicalId }) => logicalId),
    };
  };

  it('are those with its outputs, without what is beside the construct, and without stacks that name its queue', async () => {
    const shop = stack(
      'Shop',
      output('IngressQueueUrl', 'https://sqs/ingress'),
      output('ShopIngressQueueUrl', 'https://sqs/ingress'),
      output('WebhooksIngressQueueUrlA1B2C3D4', 'https://sqs/ingress'),
      output('WebhooksSubscriptionsTableA1B2C3D4', 't'),
    );
    const orders = stack('Orders', output('QueueUrl', 'https://sqs/ingress'));
    expect(await read(shop, orders)).toEqual({
      stacks: ['Shop'],
      functions: ['WebhooksPipelineDispatchFunctionA1B2C3D4'],
      policies: [],
    });
  });

  it('have all that is in a stack with the parts, and the alarms beside them', async () => {
    const state = stack('ShopState', output('SubscriptionsTable', 't'));
    const pipeline = stack('ShopPipeline', output('IngressQueueUrl', 'https://sqs/ingress'));
    const { stacks, functions } = await read(state, pipeline, stack('ShopMonitoring'), stack('Other'));
    expect(stacks).toEqual(['ShopMonitoring', 'ShopPipeline', 'ShopState']);
    expect(functions).toHaveLength(6);
  });
});

const resource = (type: string, physicalId: string, properties = {}) => ({
  ...{ stack: 'S', logicalId: 'L', type, physicalId, properties },
});

/** What a check finds in a deployment with these resources, whose AWS gives this answer. */
const findIn = async (
  check: string,
  resources: readonly ReturnType<typeof resource>[],
  answer: (request: StubRequest) => StubAnswer,
) => {
  const aws = await awsStub(answer);
  const world = z.custom<World>().parse({
    deployment: { client: aws.config, functions: { dispatch: 'P-Dispatch', deliver: 'P-Deliver' } },
    stacks: () =>
      Promise.resolve({
        prefixes: new Map([['S', '']]),
        ofType: (wanted: string) => resources.filter(({ type }) => type === wanted),
      }),
  });
  const found = await readOnlyChecks.find(({ id }) => id === check)?.run(world);
  await aws.close();
  return found;
};

describe('the check of upgrades', () => {
  const ALIAS = resource('AWS::Lambda::Alias', 'arn:aws:lambda:eu-west-1:123456789012:function:deliver:live');
  const GRADUAL = resource('AWS::CodeDeploy::DeploymentGroup', 'deliver');
  const outcome = (resources: readonly (typeof ALIAS)[], weights = {}) =>
    findIn('upgrades', resources, ({ path }) => ({
      ...(!path.endsWith('deliver/aliases/live') && { status: 404 }),
      body: JSON.stringify({ RoutingConfig: { AdditionalVersionWeights: weights } }),
    }));

  it('is not shown where functions change at once, as on the local AWS', async () => {
    expect((await outcome([ALIAS]))?.kind).toBe('notShown');
  });

  it('passes if each alias has one version', async () => {
    expect(await outcome([ALIAS, GRADUAL])).toEqual(
      passed('1 functions by CodeDeploy; each of 1 aliases has one version'),
    );
  });

  it('names the alias that an upgrade left in the middle', async () => {
    expect(await outcome([ALIAS, GRADUAL], { 7: 0.1 })).toMatchObject({
      kind: 'failed',
      detail: 'L gives 10 % of its invocations to version 7',
    });
  });
});

describe('the check of the timer', () => {
  const rule = (properties: object) => resource('AWS::Events::Rule', 'every-minute', properties);
  const RUNS = { Description: 'Posthaste: runs reconcile every minute', State: 'ENABLED' };
  const outcome = (properties: object, state: string) =>
    findIn('timer', [rule(properties)], () => ({ body: JSON.stringify({ State: state }) }));

  it('passes while the rule is enabled', async () => {
    expect(await outcome(RUNS, 'ENABLED')).toEqual(passed('enabled'));
  });

  it('names the rule that does not run reconcile, and the command that enables it', async () => {
    expect(await outcome(RUNS, 'DISABLED')).toEqual(
      failed(
        'reconcile does not run: its rule every-minute is DISABLED',
        'aws events enable-rule --name every-minute',
      ),
    );
  });

  it.each([
    ['workers run reconcile', { ...RUNS, State: 'DISABLED' }],
    ['the rule is another one of the stack', { ...RUNS, Description: 'Nightly report' }],
  ])('is not shown where %s', async (_, properties) => {
    expect((await outcome(properties, 'DISABLED'))?.kind).toBe('notShown');
  });
});

describe('the check of permissions', () => {
  it('leaves out policies of the owner of the stack for roles of other stacks', async () => {
    const PolicyDocument = { Statement: [{ Effect: 'Allow', Action: 'sqs:SendMessage' }] };
    const policies = [
      resource('AWS::IAM::Role', 'deliver'),
      resource('AWS::IAM::Policy', '', { PolicyName: 'D', PolicyDocument, Roles: [{ Ref: 'L' }] }),
      resource('AWS::IAM::Policy', '', { PolicyName: 'P', PolicyDocument, Roles: ['imported'] }),
    ];
    const document = encodeURIComponent(JSON.stringify(PolicyDocument));
    const result = `<GetRolePolicyResult><PolicyDocument>${document}</PolicyDocument></GetRolePolicyResult>`;
    expect(
      await findIn('permissions', policies, () => ({
        body: `<GetRolePolicyResponse>${result}</GetRolePolicyResponse>`,
      })),
    ).toEqual(passed('1 actions of 1 roles'));
  });
});

describe('the check of reserved concurrency', () => {
  const MAPPING = resource('AWS::Lambda::EventSourceMapping', 'uuid');
  const outcome = (resources: readonly (typeof MAPPING)[], reserved: object) =>
    findIn('reserved-concurrency', resources, ({ path }) => ({
      body: JSON.stringify(path.includes('P-Dispatch/concurrency') ? reserved : {}),
    }));

  it.each([{}, { ReservedConcurrentExecutions: 1 }])('passes for %o', async (reserved) => {
    expect(await outcome([MAPPING], reserved)).toEqual(passed('2 functions can be invoked'));
  });

  it('names the function that 0 stops, and the command that lets it go on', async () => {
    expect(await outcome([MAPPING], { ReservedConcurrentExecutions: 0 })).toEqual(
      failed(
        'dispatch has a reserved concurrency of 0, so nothing invokes it',
        'aws lambda delete-function-concurrency --function-name P-Dispatch',
      ),
    );
  });

  it('is not shown where workers do the work', async () => {
    expect((await outcome([], { ReservedConcurrentExecutions: 0 }))?.kind).toBe('notShown');
  });
});

describe('the measured bill', () => {
  const resources = [
    resource('AWS::Lambda::Function', 'deliver', { MemorySize: 512 }),
    resource('AWS::SQS::Queue', 'https://sqs.us-east-1.amazonaws.com/1/ingress'),
    resource('AWS::DynamoDB::GlobalTable', 'records', { GlobalSecondaryIndexes: [{ IndexName: 'due' }] }),
  ];
  const stacks = {
    prefixes: new Map([['S', '']]),
    ofType: (wanted: string) => resources.filter(({ type }) => type === wanted),
  };
  const COUNTED: Readonly<Record<string, readonly number[]>> = {
    'Invocations deliver': [1000, 500],
    'Duration deliver': [60_000],
    'NumberOfMessagesSent ingress': [100],
    'NumberOfEmptyReceives ingress': [7],
    'ConsumedWriteCapacityUnits records': [3000],
    'ConsumedWriteCapacityUnits records due': [1000],
    'ConsumedReadCapacityUnits records': [20],
  };
  /** CloudWatch that has metrics only of these services, at each look. */
  const read = async (withinMs: number, ...looks: readonly RegExp[]) => {
    let asked = 0;
    const getMetricData = ({ MetricDataQueries: queries = [] }: GetMetricDataInput) => {
      const has = looks[Math.min(asked++, looks.length - 1)] ?? /^/;
      const results = queries.map(({ Id, MetricStat }) => {
        const { Namespace = '', MetricName, Dimensions = [] } = MetricStat?.Metric ?? {};
        const name = [MetricName, ...Dimensions.map(({ Value }) => Value)].join(' ');
        return { Id, Values: has.test(Namespace) ? [...(COUNTED[name] ?? [])] : [] };
      });
      // AWS promises no order.
      return Promise.resolve({ MetricDataResults: results.toReversed() });
    };
    const signal = new AbortController().signal;
    const wait = { withinMs, interval: { floor: 0.005, ceiling: 0.01 } };
    const quantities = await readQuantities(getMetricData, stacks, { since: 0, until: 1, signal }, wait);
    return quantities && { quantities: Object.fromEntries(quantities), asked };
  };

  it('adds up functions by their memory, queues, and tables with their indexes, once two readings are equal', async () => {
    expect(await read(10_000, /Lambda/, /Lambda|SQS/, /^/, /^/)).toEqual({
      quantities: {
        lambdaRequests: 1500,
        lambdaCompute: 30,
        sqsRequests: 107,
        dynamodbWriteUnits: 4000,
        dynamodbReadUnits: 20,
      },
      asked: 4,
    });
  });

  it('has no quantities if a service has no metrics', async () => {
    expect(await read(50, /Lambda|SQS/)).toBeUndefined();
  });

  it('is a month at the same rate, beside that of the plan for the same services', () => {
    // 10 a second: 26.28 million a month.
    const text = describeBill(1000, 100, new Map([['dynamodbWriteUnits', 4000]]));
    expect(text).toMatch(
      /^a month at this rate costs about \$\d+\.\d\d by posthaste plan; of that Lambda, SQS and DynamoDB \$\d+\.\d\d a million deliveries, \$\d+\.\d\d a month, and as measured \$2\.50 a million deliveries, \$65\.70 a month$/,
    );
    const [plan] = /\d+\.\d\d(?= by posthaste plan)/.exec(describeBill(1000, 100, 'no metrics')) ?? [];
    expect(text).toContain(`$${plan} by`);
    expect(describeBill(1000, 100, 'no metrics')).toMatch(
      /plan; the bill was not measured here: no metrics$/,
    );
  });

  it('is for a million deliveries', () => {
    const quantities = new Map([
      ['dynamodbWriteUnits', 4000],
      ['lambdaRequests', 1000],
    ] as const);
    const prices = builtInPrices.regions['us-east-1'];
    expect(computeMillionCost(quantities, 1000, prices)).toBeCloseTo(4 * 0.625 + 0.2);
  });
});

describe('a delivery to a dead receiver', () => {
  const policy = {
    ...DEFAULT_RETRY_POLICY,
    retries_with_no_delay: 1,
    minimum_delay_retries: 1,
    backoff_retries: 0,
    maximum_delay_retries: 0,
  };
  const attempt = (number: number, phase: 'initial' | 'immediate' | 'pre_backoff', at: number) => ({
    number,
    round: 1,
    phase,
    startedAt: new Date(at).toISOString(),
    durationMs: 10,
    outcome: 'failed' as const,
  });
  const made: DeliveryView['attempts'] = [
    attempt(1, 'initial', 0),
    attempt(2, 'immediate', 10),
    attempt(3, 'pre_backoff', 5_020),
  ];
  const faultsOf = (attempts: DeliveryView['attempts'], status: DeliveryView['status'] = 'exhausted') =>
    findScheduleFaults({ status, attempts }, retrySchedule(policy));

  it('follows its schedule', () => {
    expect(faultsOf(made)).toEqual([]);
  });

  it('has too few requests, one too early, or one of another phase', () => {
    expect(faultsOf(made.slice(0, 2))).toEqual(['1 retries were made, not 2']);
    expect(faultsOf([...made.slice(0, 2), attempt(3, 'pre_backoff', 3_020)])).toEqual([
      'retry 2 came 3.0 s after the attempt before it, not 5 s',
    ]);
    expect(faultsOf([...made.slice(0, 2), attempt(3, 'immediate', 5_020)])).toEqual([
      'retry 2 is of phase immediate, not pre_backoff',
    ]);
    expect(faultsOf(made, 'delivered')).toEqual(['the delivery is delivered']);
  });
});

describe('a resource that was changed', () => {
  const drift = { StackId: 's', LogicalResourceId: 'Queue', ResourceType: 't', Timestamp: new Date(0) };

  it('is named with what it has and what its template says', () => {
    const difference = {
      PropertyPath: '/RedrivePolicy/maxReceiveCount',
      ExpectedValue: '100',
      ActualValue: '3',
      DifferenceType: 'NOT_EQUAL' as const,
    };
    expect(
      describeDrift({ ...drift, StackResourceDriftStatus: 'MODIFIED', PropertyDifferences: [difference] }),
    ).toBe('Queue: /RedrivePolicy/maxReceiveCount is 3, not 100');
    expect(describeDrift({ ...drift, StackResourceDriftStatus: 'DELETED' })).toBe('Queue is deleted');
  });
});
