import type { IAM } from '@aws-sdk/client-iam';
import * as z from 'zod';
import { variables } from '../../../../shared/config/resources.ts';
import type { Deployment } from '../../../deployment.ts';
import { judge, notShown, type ReadOnlyCheck } from '../check.ts';
import type { DeployedStacks } from '../stacks.ts';

/** Who may do what. */
export const accessChecks: readonly ReadOnlyCheck[] = [
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

/** The inline policies of roles, with the actions that the template allows. */
function listPolicies({ ofType }: DeployedStacks) {
  const roles = ofType('AWS::IAM::Role');
  return ofType('AWS::IAM::Policy').flatMap(({ stack, properties }) => {
    const { PolicyName: policy, PolicyDocument, Roles } = policySchema.parse(properties);
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
