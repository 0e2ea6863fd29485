import type { CloudFormation, StackResourceDrift } from '@aws-sdk/client-cloudformation';
import type { IAM } from '@aws-sdk/client-iam';
import * as z from 'zod';
import { pollUntil } from '../../../../local/poll-until.ts';
import { variables } from '../../../../shared/config/resources.ts';
import type { Deployment } from '../../../deployment.ts';
import { judge, notShown, type Outcome, type ReadOnlyCheck, Refuted } from '../check.ts';
import { type DeployedResource, type DeployedStacks, listIndexes } from '../stacks.ts';

/** Concurrent executions of the other functions, such as reconcile and the API. */
const OTHERS = 10;

/** Whether AWS has what the deployed templates say, and who may do what. `posthaste doctor` makes these checks, too. */
export const readOnlyChecks: readonly ReadOnlyCheck[] = [
  {
    id: 'templates',
    title: 'Queues, redrive targets, functions, logs and roles are as their templates say',
    seconds: 120,
    run: async ({ deployment, signal, stacks }) => {
      const { prefixes, ofType } = await stacks();
      const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
      const cloudFormation = new CloudFormation(deployment.client);
      const detecting = Array.from(prefixes, (stack) => detectDrift(cloudFormation, stack, signal));
      const drifts = (await Promise.all(detecting)).flat();
      const unlimited = ofType('AWS::Logs::LogGroup').filter(
        ({ properties }) => properties['RetentionInDays'] === undefined,
      );
      const faults = [
        ...drifts.filter(isDrifted).map(describeDrift),
        ...unlimited.map(({ logicalId }) => `the log group ${logicalId} keeps its lines for ever`),
      ];
      const checked = drifts.filter(
        ({ StackResourceDriftStatus: status }) => status !== 'NOT_CHECKED',
      ).length;
      return judge(
        faults,
        `${checked} resources of ${prefixes.size} stacks compared by CloudFormation`,
        'It was changed outside CloudFormation. Set it back: a deployment changes only what its template changes.',
      );
    },
  },
  {
    id: 'event-sources',
    title: 'The event sources of the functions are enabled',
    seconds: 10,
    run: async ({ deployment, stacks }) => {
      const { Lambda } = await import('@aws-sdk/client-lambda');
      const lambda = new Lambda(deployment.client);
      const mappings = (await stacks()).ofType('AWS::Lambda::EventSourceMapping');
      if (mappings.length === 0) return notShown(BY_WORKERS);
      return judgeEach(mappings, `${mappings.length} enabled`, async ({ logicalId, physicalId: UUID }) => {
        const { State: state } = await lambda.getEventSourceMapping({ UUID });
        const fault = state !== 'Enabled' && `the event source ${logicalId} is ${state}`;
        return [fault, `aws lambda update-event-source-mapping --enabled --uuid ${UUID}`];
      });
    },
  },
  {
    id: 'timer',
    title: 'The rule that runs reconcile every minute is enabled',
    seconds: 10,
    run: async ({ deployment, stacks }) => {
      const rules = (await stacks()).ofType('AWS::Events::Rule').filter(isMeantToRunReconcile);
      if (rules.length === 0) return notShown(BY_WORKERS);
      const { EventBridge } = await import('@aws-sdk/client-eventbridge');
      const eventBridge = new EventBridge(deployment.client);
      return judgeEach(rules, 'enabled', async ({ physicalId: Name }) => {
        const { State: state } = await eventBridge.describeRule({ Name });
        const fault = state !== 'ENABLED' && `reconcile does not run: its rule ${Name} is ${state}`;
        return [fault, `aws events enable-rule --name ${Name}`];
      });
    },
  },
  {
    id: 'reserved-concurrency',
    title: 'No function is stopped by a reserved concurrency of 0',
    seconds: 10,
    run: async ({ deployment, stacks }) => {
      if ((await stacks()).ofType('AWS::Lambda::EventSourceMapping').length === 0)
        return notShown(BY_WORKERS);
      const { Lambda } = await import('@aws-sdk/client-lambda');
      const lambda = new Lambda(deployment.client);
      const functions = Object.entries(deployment.functions);
      const detail = `${functions.length} functions can be invoked`;
      return judgeEach(functions, detail, async ([name, FunctionName]) => {
        const { ReservedConcurrentExecutions: reserved } = await lambda.getFunctionConcurrency({
          FunctionName,
        });
        const fault = reserved === 0 && `${name} has a reserved concurrency of 0, so nothing invokes it`;
        return [fault, `aws lambda delete-function-concurrency --function-name ${FunctionName}`];
      });
    },
  },
  {
    id: 'upgrades',
    title: 'Upgrades move the functions gradually, and none is in the middle',
    seconds: 10,
    run: async ({ deployment, stacks }) => {
      const { ofType } = await stacks();
      const gradual = ofType('AWS::CodeDeploy::DeploymentGroup');
      if (gradual.length === 0)
        return notShown('the functions change at once here: the deployment is local, or canaryMinutes is 0');
      const { Lambda } = await import('@aws-sdk/client-lambda');
      const lambda = new Lambda(deployment.client);
      const aliases = ofType('AWS::Lambda::Alias');
      const faults = await Promise.all(
        aliases.map(async ({ logicalId, physicalId }) => {
          const [, FunctionName, Name] = /^(.+):([^:]+)$/.exec(physicalId) ?? [];
          const { RoutingConfig: routing } = await lambda.getAlias({ FunctionName, Name });
          return Object.entries(routing?.AdditionalVersionWeights ?? {}).map(
            ([version, weight]) =>
              `${logicalId} gives ${(100 * weight).toFixed(0)} % of its invocations to version ${version}`,
          );
        }),
      );
      return judge(
        faults.flat(),
        `${gradual.length} functions by CodeDeploy; each of ${aliases.length} aliases has one version`,
        'An upgrade is under way: wait for its end. If none is, deploy again.',
      );
    },
  },
  {
    id: 'tables',
    title: 'The tables have their indexes, and can be restored',
    seconds: 10,
    run: async ({ deployment, stacks }) => {
      const { DynamoDB } = await import('@aws-sdk/client-dynamodb');
      const dynamo = new DynamoDB(deployment.client);
      const tables = (await stacks()).ofType('AWS::DynamoDB::GlobalTable');
      const faults = await Promise.all(
        tables.map(async (table) => {
          const TableName = table.physicalId;
          const { Table } = await dynamo.describeTable({ TableName });
          const { ContinuousBackupsDescription: backups } = await dynamo.describeContinuousBackups({
            TableName,
          });
          const live = Table?.GlobalSecondaryIndexes ?? [];
          // The local AWS gives no status.
          const active = live.filter(({ IndexStatus: status = 'ACTIVE' }) => status === 'ACTIVE');
          const names = new Set(active.map(({ IndexName: name }) => name));
          const recovery = backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
          return [
            ...listIndexes(table).map(
              (name) => !names.has(name) && `${table.logicalId} has no index ${name}`,
            ),
            restores(table) && recovery !== 'ENABLED' && `${table.logicalId} has no point-in-time recovery`,
          ];
        }),
      );
      return judge(
        faults.flat(),
        `${tables.length} tables, ${tables.flatMap(listIndexes).length} indexes`,
        'Listings and reconcile need it. Create it again, with the keys that the template has: aws dynamodb update-table, aws dynamodb update-continuous-backups.',
      );
    },
  },
  {
    id: 'quotas',
    title: 'The account has the concurrency that the settings need',
    seconds: 10,
    run: async ({ deployment, stacks, isLocal }) => {
      if (isLocal) return notShown('the local AWS has no quotas');
      const { Lambda } = await import('@aws-sdk/client-lambda');
      const { AccountLimit } = await new Lambda(deployment.client).getAccountSettings({});
      const most = AccountLimit?.UnreservedConcurrentExecutions ?? 0;
      const mappings = (await stacks()).ofType('AWS::Lambda::EventSourceMapping');
      const needed = mappings.reduce((sum, mapping) => sum + concurrencyOf(mapping), OTHERS);
      return judge(
        [needed > most && `the settings need ${needed} concurrent executions, the account has ${most}`],
        `${needed} of ${most} concurrent executions at most`,
        'Ask AWS for more (Service Quotas, Lambda, Concurrent executions), or lower the concurrency settings.',
      );
    },
  },
  {
    id: 'unsigned',
    title: 'The API refuses a caller without credentials',
    seconds: 5,
    run: async ({ access, deployment, isLocal }) => {
      if (isLocal && deployment.apiAuthorization === 'none')
        return notShown(
          'the local deployment asks for no credentials: start it with -c apiAuthorization=iam',
        );
      const { status } = await fetch(`${access.apiUrl}/v2/queues`);
      return judge(
        [status !== 401 && status !== 403 && `it answers ${status}`],
        `it answers ${status}`,
        'Is the authoriser of the HTTP API removed? Deploy again.',
      );
    },
  },
  {
    id: 'permissions',
    title: 'The roles of the functions have every permission that their templates grant',
    seconds: 15,
    run: async ({ deployment, stacks }) => {
      const { IAM } = await import('@aws-sdk/client-iam');
      const iam = new IAM(deployment.client);
      const policies = listPolicies(await stacks());
      const faults = await Promise.all(
        policies.map(async ({ role, policy, granted }) => {
          const live = await readActions(iam, role.physicalId, policy);
          return granted
            .filter((action) => !live.includes(action))
            .map((action) => `${role.logicalId} lacks ${action}`);
        }),
      );
      return judge(
        faults.flat(),
        `${policies.flatMap(({ granted }) => granted).length} actions of ${policies.length} roles`,
        'Add what is missing to the inline policy of the role, as the template has it. Until then calls fail with AccessDenied.',
      );
    },
  },
  {
    id: 'denied',
    title: 'IAM denies the functions what their templates do not grant',
    seconds: 60,
    run: async ({ deployment, settings, stacks }) => {
      const { IAM } = await import('@aws-sdk/client-iam');
      const iam = new IAM(deployment.client);
      const deployed = await stacks();
      const arns = listArns(settings[variables.secretsKeyArn] ?? '', deployment);
      const policies = listPolicies(deployed);
      const all = new Set(policies.flatMap(({ granted }) => granted));
      const faults = await Promise.all(
        policies.map(async ({ role, granted }) => {
          const { Role } = await iam.getRole({ RoleName: role.physicalId });
          const PolicySourceArn = Role?.Arn;
          const ActionNames = [...all, ...NEVER].filter((action) => !granted.includes(action));
          const simulated = arns.map(async (arn) => {
            const question = { PolicySourceArn, ActionNames, ResourceArns: [arn], MaxItems: 1000 };
            const { EvaluationResults: results = [] } = await iam.simulatePrincipalPolicy(question);
            return results
              .filter(({ EvalDecision: decision }) => decision === 'allowed')
              .map(({ EvalActionName: action }) => `${role.logicalId} may ${action} on ${arn}`);
          });
          return (await Promise.all(simulated)).flat();
        }),
      );
      return judge(
        faults.flat(),
        `${policies.length} roles simulated on the key of the secrets, a table and a queue`,
        'Remove the policy that allows it from the role: it is not from the template.',
      );
    },
  },
];

const BY_WORKERS = 'workers do the work of the functions: nothing invokes these';

/** `look`: finds the fault of one, if there is one, and the command that mends it. */
async function judgeEach<One>(
  all: readonly One[],
  detail: string,
  look: (one: One) => Promise<[fault: string | false, command: string]>,
): Promise<Outcome> {
  const found = await Promise.all(all.map(look));
  const commands = found.flatMap(([fault, command]) => (fault === false ? [] : [command]));
  return judge(
    found.map(([fault]) => fault),
    detail,
    commands.join('; '),
  );
}

/** What CloudFormation found, which it does by itself and takes a moment for. */
async function detectDrift(
  cloudFormation: CloudFormation,
  [StackName, prefix]: readonly [string, string],
  signal: AbortSignal,
): Promise<StackResourceDrift[]> {
  const { StackDriftDetectionId } = await cloudFormation.detectStackDrift({ StackName });
  const status = await pollUntil(
    async () => {
      const detection = await cloudFormation.describeStackDriftDetectionStatus({ StackDriftDetectionId });
      return detection.DetectionStatus === 'DETECTION_IN_PROGRESS' ? undefined : detection.DetectionStatus;
    },
    { withinMs: 300_000, interval: { floor: 0.5, ceiling: 2, exponent: 1.5 }, signal },
  );
  if (status === undefined)
    throw new Refuted(
      `CloudFormation compares ${StackName} for more than 300 s`,
      'Run the check again later.',
    );
  const { paginateDescribeStackResourceDrifts } = await import('@aws-sdk/client-cloudformation');
  const drifts: StackResourceDrift[] = [];
  for await (const page of paginateDescribeStackResourceDrifts({ client: cloudFormation }, { StackName }))
    drifts.push(...(page.StackResourceDrifts ?? []));
  return drifts.filter(({ LogicalResourceId: id = '' }) => id.startsWith(prefix));
}

function isDrifted({ StackResourceDriftStatus: status }: StackResourceDrift): boolean {
  return status === 'MODIFIED' || status === 'DELETED';
}

/** `IngressQueue: /RedrivePolicy/maxReceiveCount is 3, not 100` */
export function describeDrift({
  LogicalResourceId: id,
  StackResourceDriftStatus: status,
  PropertyDifferences: differences = [],
}: StackResourceDrift): string {
  if (status === 'DELETED') return `${id} is deleted`;
  const texts = differences.map(
    ({ PropertyPath: path, ExpectedValue: expected, ActualValue: actual = 'missing' }) =>
      `${path} is ${actual}, not ${expected}`,
  );
  return `${id}: ${texts.join(', ')}`;
}

/** Whether the template asks for point-in-time recovery. */
function restores({ properties }: DeployedResource): boolean {
  return JSON.stringify(properties).includes('"PointInTimeRecoveryEnabled":true');
}

/** A stack may have rules of its owner besides. Where workers run reconcile, the template disables the rule. */
function isMeantToRunReconcile({ properties }: DeployedResource): boolean {
  const { Description: description, State: state } = properties;
  return state !== 'DISABLED' && String(description).includes('runs reconcile');
}

const mappingSchema = z.object({ ScalingConfig: z.object({ MaximumConcurrency: z.number() }) });

function concurrencyOf({ properties }: DeployedResource): number {
  return mappingSchema.safeParse(properties).data?.ScalingConfig.MaximumConcurrency ?? 0;
}

/** What no function may do. */
const NEVER = ['dynamodb:DeleteTable', 'sqs:PurgeQueue', 'kms:ScheduleKeyDeletion', 'iam:PutRolePolicy'];

/** Resources of the deployment, in the partition, region and account of its key. */
function listArns(key: string, { deliveriesTable, ingressQueueUrl }: Deployment): string[] {
  const [, partition, , region, account] = key.split(':');
  const at = (service: string, resource: string): string =>
    ['arn', partition, service, region, account, resource].join(':');
  const queue = ingressQueueUrl.slice(ingressQueueUrl.lastIndexOf('/') + 1);
  return [key, at('dynamodb', `table/${deliveriesTable}`), at('sqs', queue)];
}

const actions = z.union([z.string().transform((one) => [one]), z.array(z.string())]);

const policySchema = z.object({
  PolicyName: z.string(),
  PolicyDocument: z.object({
    Statement: z.array(z.object({ Effect: z.string(), Action: actions.default([]) })),
  }),
  Roles: z.array(z.object({ Ref: z.string() })).default([]),
});

/**
 * The inline policies of roles, with the actions that the template allows. Not those of another form, for roles of
 * other stacks: the owner of the stack grants by them.
 */
function listPolicies({ ofType }: DeployedStacks) {
  const roles = ofType('AWS::IAM::Role');
  return ofType('AWS::IAM::Policy').flatMap(({ stack, properties }) => {
    const { data } = policySchema.safeParse(properties);
    if (data === undefined) return [];
    const { PolicyName: policy, PolicyDocument, Roles } = data;
    const granted = allowedActions(PolicyDocument.Statement);
    return Roles.flatMap(({ Ref }) =>
      roles
        .filter((role) => role.stack === stack && role.logicalId === Ref)
        .map((role) => ({ role, policy, granted })),
    );
  });
}

function allowedActions(statements: z.output<typeof policySchema>['PolicyDocument']['Statement']): string[] {
  const allowed = statements.filter(({ Effect: effect }) => effect === 'Allow');
  return [...new Set(allowed.flatMap(({ Action }) => Action))];
}

async function readActions(iam: IAM, RoleName: string, PolicyName: string): Promise<string[]> {
  const { PolicyDocument = '' } = await iam.getRolePolicy({ RoleName, PolicyName });
  const { Statement } = policySchema.shape.PolicyDocument.parse(
    JSON.parse(decodeURIComponent(PolicyDocument)),
  );
  return allowedActions(Statement);
}
