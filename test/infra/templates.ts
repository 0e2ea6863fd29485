import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { z } from 'zod';
import { createStacks } from '../../infra/deployment.ts';

/** The feature flags of cdk.json. The CLI reads them; tests must pass them to the App. */
export const { context: cdkContext } = z
  .object({ context: z.record(z.string(), z.unknown()) })
  .parse(JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8')));

/** An app as the CLI would create it, but without bundling functions. */
export const testApp = (): App => new App({ context: { ...cdkContext, 'aws:cdk:bundling-stacks': [] } });

/** Settings of an API that tokens authorise. */
export const TOKENS = {
  apiAuthorization: 'jwt',
  jwtIssuer: 'https://id.example.com',
  jwtAudience: ['posthaste'],
} as const;

/** The topics and rules that may send to the ingress queue. */
export const SENDERS = {
  topics: ['arn:aws:sns:eu-central-1:111122223333:orders-topic'],
  rules: [
    'arn:aws:events:eu-central-1:111122223333:rule/orders',
    'arn:aws:events:eu-central-1:111122223333:rule/shop-bus/orders',
  ],
};

/** The buckets from which dispatch may read. */
export const SOURCES = [
  { bucket: 'shop-exports', prefix: 'webhooks/' },
  {
    bucket: 'partner-data',
    owner: '999900001111',
    keyArn: 'arn:aws:kms:eu-central-1:999900001111:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  },
];

/** A value other than the default for each setting that adds no resources with data: all tests share it. */
export const TUNED = {
  ...TOKENS,
  deployment: 'Shop',
  attemptTimeoutSeconds: 30,
  schedulerThreshold: 8,
  retentionDays: 20,
  retryAfterCapSeconds: 7200,
  overdueAfterSeconds: 300,
  defaultRetryPolicy: { backoff_retries: 2 },
  ingressRoutes: { 'my.shop': 'orders' },
  ingressSenders: [...SENDERS.rules, ...SENDERS.topics].join(', '),
  payloadSources: SOURCES,
  retainMessages: 'all',
  eventValidation: 'warn',
  adaptToThrottling: false,
  holdWhileDown: true,
  allowedPorts: '443, 8000-9000',
  publicApiUrl: 'https://hooks.example.com',
  userAgentContact: 'hooks@example.com',
  jwtScopes: { read: 'r', publish: 'p', manage: 'm', credentials: 'c' },
  jwtQueuesClaim: 'queues',
  portal: true,
  portalTitle: 'Acme webhooks',
  portalAccent: '#0a6cff',
  portalFrameAncestors: ['https://app.example.com'],
  portalMaxEndpoints: 3,
  portalHosts: ['*.example.com'],
  portalMaxPerSecond: 5,
  dispatchConcurrency: 11,
  deliverConcurrency: 400,
  retryConcurrency: 100,
  messagesPerBatch: 50,
  batchWindowSeconds: 3,
  memoryMegabytes: { deliver: 384 },
  apiRateLimit: 4,
  apiConcurrency: 20,
  logLevel: 'warn',
  logSuccessSampling: 0.1,
  logRetentionDays: 7,
  runbookUrl: 'https://wiki.example.com/operations',
  tracing: true,
};

/** Of a local AWS, with addresses and a retention as long as they can be. */
export const LOCAL = {
  local: true,
  apiAuthorization: 'none',
  allowedAddresses: Array.from({ length: 31 }, (_, n) => `10.${100 + n}.0.0/16`).join(','),
  retentionDays: 3650,
};

export type Templates = { state: Template; pipeline: Template; monitoring: Template };

/** The templates for these settings. Equal settings are synthesised only once. */
export const templatesFor = (settings: Record<string, unknown> = {}): Templates => {
  const key = JSON.stringify(settings);
  const templates = synthesised.get(key) ?? synthesise(settings);
  synthesised.set(key, templates);
  return templates;
};

const synthesised = new Map<string, Templates>();

const synthesise = (settings: Record<string, unknown>): Templates => {
  const stacks = createStacks(testApp(), settings);
  return {
    state: Template.fromStack(stacks.state),
    pipeline: Template.fromStack(stacks.pipeline),
    monitoring: Template.fromStack(stacks.monitoring),
  };
};

const resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});

export type Resource = z.output<typeof resource>;

/** Resources of a type by logical id. */
export const resourcesOf = (template: Template, type: string): Map<string, Resource> =>
  new Map(
    Object.entries(template.findResources(type)).map(([id, found]): [string, Resource] => [
      id,
      resource.parse(found),
    ]),
  );

/** The only resource of a type whose logical id is the path plus CDK's eight hash digits. */
export const resourceAt = (template: Template, type: string, path: string): { id: string } & Resource => {
  const found = [...resourcesOf(template, type)].filter(([id]) => id.slice(0, -8) === path);
  const [first, ...others] = found;
  if (first === undefined || others.length > 0) throw new Error(`${found.length} ${type} at ${path}`);
  return { id: first[0], ...first[1] };
};

const listOf = <T extends z.ZodType>(item: T) => z.union([z.array(item), item.transform((one) => [one])]);

const statement = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Action: listOf(z.string()),
  Resource: listOf(z.unknown()),
  Condition: z.unknown().optional(),
});

export type Statement = {
  effect: 'Allow' | 'Deny';
  actions: string[];
  resources: unknown[];
  condition: unknown;
};

const policy = z.object({ PolicyDocument: z.object({ Statement: z.array(statement) }) });

/** The statements of the policy at a path. */
export const statementsAt = (template: Template, path: string): Statement[] =>
  statementsIn(resourceAt(template, 'AWS::IAM::Policy', path));

/** The statements of a policy. */
export const statementsIn = ({ Properties }: Resource): Statement[] =>
  policy
    .parse(Properties)
    .PolicyDocument.Statement.map(({ Effect, Action, Resource: resources, Condition }) => ({
      effect: Effect,
      actions: z.array(z.string()).parse(Action),
      resources: z.array(z.unknown()).parse(resources),
      condition: Condition,
    }));

const queuePolicy = z.object({
  Queues: z.array(z.unknown()),
  PolicyDocument: z.object({ Statement: z.array(z.unknown()) }),
});

/** The policies of queues. */
export const queuePoliciesIn = (template: Template) =>
  [...resourcesOf(template, 'AWS::SQS::QueuePolicy').values()].map(({ Properties }) =>
    queuePolicy.parse(Properties),
  );

/** The statements of all policies of a queue. */
export const queueStatementsOf = (template: Template, queueId: string): unknown[] =>
  queuePoliciesIn(template)
    .filter(({ Queues }) => JSON.stringify(Queues) === JSON.stringify([{ Ref: queueId }]))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);

const variables = z.object({ Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }) });

/** The variables of a function. */
export const environmentAt = (template: Template, path: string): Record<string, unknown> =>
  variables.parse(resourceAt(template, 'AWS::Lambda::Function', path).Properties).Environment.Variables;

/** The outputs of a stack, except those for other stacks. */
export const outputsOf = (template: Template) =>
  Object.entries(template.findOutputs('*')).filter(([name]) => !/^(?:Exports|Publish)Output/.test(name));

/** A CloudFormation reference to the ARN of a resource. */
export const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
