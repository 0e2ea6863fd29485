import * as z from 'zod';

/** An action that a role may take on a resource, as in the policy with intrinsic functions resolved. */
export type Grant = { role: string; action: string; resource: string };

/** A deployed stack: its template and its resources. */
export type DeployedStack = {
  template: unknown;
  /** By logical id. */
  resources: ReadonlyMap<string, { type: string; physicalId: string }>;
};

export type Account = { account: string; region: string; exports: ReadonlyMap<string, string> };

const oneOrMore = <T extends z.ZodType>(item: T) => z.union([z.array(item), item.transform((one) => [one])]);

const statement = z.object({
  Effect: z.literal('Allow'),
  Action: oneOrMore(z.string()),
  Resource: oneOrMore(z.unknown()),
});

const policySchema = z.object({
  Roles: z.array(z.object({ Ref: z.string() })),
  PolicyDocument: z.object({ Statement: z.array(statement) }),
});

/** `AWS`: of the role that the portal's function assumes. */
const principal = z.union([z.object({ Service: z.string() }), z.strictObject({ AWS: z.unknown() })]);

const roleSchema = z.object({
  AssumeRolePolicyDocument: z.object({
    Statement: z.array(z.object({ Principal: principal })),
  }),
  // Refuses other sources of permissions, so that none is overlooked.
  Policies: z.undefined().optional(),
  ManagedPolicyArns: z.undefined().optional(),
  Description: z.string().optional(),
});

const templateSchema = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string(), Properties: z.unknown() })),
});

/** The grants of the function roles in a stack. */
export const grantsOf = (stack: DeployedStack, account: Account): Grant[] => {
  const resources = Object.entries(templateSchema.parse(stack.template).Resources);
  const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type);
  const functionRoles = new Set(
    ofType('AWS::IAM::Role')
      .filter(([, { Properties }]) => isForFunctions(roleSchema.parse(Properties)))
      .map(([id]) => id),
  );
  return ofType('AWS::IAM::Policy').flatMap(([, { Properties }]) => {
    const { Roles, PolicyDocument } = policySchema.parse(Properties);
    const roles = Roles.map(({ Ref }) => Ref).filter((id) => functionRoles.has(id));
    return roles.flatMap((id) =>
      PolicyDocument.Statement.flatMap(({ Action, Resource }) =>
        Action.flatMap((action) =>
          Resource.map((resource) => ({
            role: physicalIdOf(stack, id),
            action,
            resource: resolved(resource, stack, account),
          })),
        ),
      ),
    );
  });
};

const isForFunctions = ({ AssumeRolePolicyDocument }: z.output<typeof roleSchema>): boolean =>
  AssumeRolePolicyDocument.Statement.some(
    ({ Principal }) => 'Service' in Principal && Principal.Service === 'lambda.amazonaws.com',
  );

const physicalIdOf = ({ resources }: DeployedStack, id: string): string => {
  const found = resources.get(id);
  if (found === undefined) throw new Error(`${id} is in the template but was not deployed`);
  return found.physicalId;
};

const intrinsic = z.union([
  z.string(),
  z.strictObject({ Ref: z.string() }),
  z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }),
  z.strictObject({ 'Fn::ImportValue': z.string() }),
  z.strictObject({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) }),
]);

/** @throws ZodError for an intrinsic function that no policy has used so far */
const resolved = (value: unknown, stack: DeployedStack, account: Account): string => {
  const source = intrinsic.parse(value);
  if (typeof source === 'string') return source;
  if ('Ref' in source) return pseudoParameters(account).get(source.Ref) ?? physicalIdOf(stack, source.Ref);
  if ('Fn::GetAtt' in source) return arnOf(stack, source['Fn::GetAtt'][0], account);
  if ('Fn::ImportValue' in source) return exported(source['Fn::ImportValue'], account);
  const [separator, parts] = source['Fn::Join'];
  return parts.map((part) => resolved(part, stack, account)).join(separator);
};

const pseudoParameters = ({ account, region }: Account): ReadonlyMap<string, string> =>
  new Map([
    ['AWS::Partition', 'aws'],
    ['AWS::AccountId', account],
    ['AWS::Region', region],
  ]);

const exported = (name: string, { exports }: Account): string => {
  const value = exports.get(name);
  if (value === undefined) throw new Error(`${name} is imported but was not exported`);
  return value;
};

const arnOf = (stack: DeployedStack, id: string, { account, region }: Account): string => {
  const name = physicalIdOf(stack, id);
  const type = stack.resources.get(id)?.type ?? '';
  switch (type) {
    case 'AWS::SQS::Queue':
      return `arn:aws:sqs:${region}:${account}:${name.slice(name.lastIndexOf('/') + 1)}`;
    case 'AWS::Events::EventBus':
      return `arn:aws:events:${region}:${account}:event-bus/${name}`;
    case 'AWS::IAM::Role':
      return `arn:aws:iam::${account}:role/${name}`;
    case 'AWS::Logs::LogGroup':
      return `arn:aws:logs:${region}:${account}:log-group:${name}:*`;
    default:
      throw new Error(`${id}: the form of ARNs of ${type} is unknown`);
  }
};
