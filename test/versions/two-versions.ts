import { IAM } from '@aws-sdk/client-iam';
import {
  CreateEventSourceMappingCommand,
  CreateFunctionCommand,
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { CloudFormation } from '@aws-sdk/client-cloudformation';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Endpoints, toClientOptions } from '../../local/endpoints.ts';
import { localAws } from '../../local/local-aws.ts';

export type Version = 'old' | 'new';

export type FunctionName = keyof Required<Endpoints['functions']>;

/** The functions of one version by their names on AWS, and the ids of their event source mappings. */
export type Fleet = { functions: Endpoints['functions']; mappings: readonly string[] };

type Kept = { name: FunctionName; create: CreateFunctionCommand };

/** What is needed to create the deployed functions once more, beside those of the next deployment. */
export async function keepFunctions(
  client: ReturnType<typeof toClientOptions>,
  functions: Endpoints['functions'],
): Promise<Kept[]> {
  const lambda = new LambdaClient(client);
  const code = await findCode(new CloudFormation(client));
  const names = z.record(z.string(), z.string()).parse(functions);
  return Promise.all(
    Object.entries(names).map(async ([name, FunctionName]) => {
      const deployed = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
      const beside = `${FunctionName}-old`.slice(-64);
      const create = new CreateFunctionCommand({
        FunctionName: beside,
        Code: { S3Bucket: ASSETS, S3Key: code.get(FunctionName) },
        // Of the other functions the versions share the role, as on AWS. The api of today may not open secrets any more.
        Role: name === 'api' ? await copyRole(new IAM(client), deployed.Role) : deployed.Role,
        Handler: deployed.Handler,
        Runtime: deployed.Runtime,
        MemorySize: deployed.MemorySize,
        Timeout: deployed.Timeout,
        Environment: { Variables: { ...deployed.Environment?.Variables, USER_AGENT: OLD_USER_AGENT } },
        LoggingConfig: { ...deployed.LoggingConfig, LogGroup: `/aws/lambda/${beside}` },
      });
      return { name: name as FunctionName, create };
    }),
  );
}

/** By which subscribers see which version sent a request. */
export const OLD_USER_AGENT = 'Posthaste/old';

/** A second role with what the first one allows now. */
async function copyRole(iam: IAM, arn = ''): Promise<string | undefined> {
  const RoleName = arn.slice(arn.lastIndexOf('/') + 1);
  const copy = `${RoleName}-old`.slice(-64);
  const { Role: role } = await iam.getRole({ RoleName });
  assert(role?.AssumeRolePolicyDocument !== undefined);
  const AssumeRolePolicyDocument = decodeURIComponent(role.AssumeRolePolicyDocument);
  const { Role: created } = await iam.createRole({ RoleName: copy, AssumeRolePolicyDocument });
  const { PolicyNames = [] } = await iam.listRolePolicies({ RoleName });
  for (const PolicyName of PolicyNames) {
    const { PolicyDocument = '' } = await iam.getRolePolicy({ RoleName, PolicyName });
    const policy = { PolicyName, PolicyDocument: decodeURIComponent(PolicyDocument) };
    await iam.putRolePolicy({ RoleName: copy, ...policy });
  }
  return created?.Arn;
}

/** The bucket of `cdk bootstrap`. */
const ASSETS = `cdk-hnb659fds-assets-${localAws.account}-${localAws.region}`;

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Properties: z.object({ Code: z.object({ S3Key: z.string() }).optional() }).default({}) }),
  ),
});

/** Keys of the bundles in the bucket of assets, by function. */
async function findCode(cloudFormation: CloudFormation): Promise<Map<string, string>> {
  const StackName = 'PosthastePipeline';
  const { TemplateBody = '' } = await cloudFormation.getTemplate({ StackName });
  const { Resources } = templateSchema.parse(JSON.parse(TemplateBody));
  const { StackResources = [] } = await cloudFormation.describeStackResources({ StackName });
  return new Map(
    StackResources.flatMap(({ LogicalResourceId: id = '', PhysicalResourceId: name = '' }) => {
      const key = Resources[id]?.Properties.Code?.S3Key;
      return key === undefined ? [] : [[name, key] as const];
    }),
  );
}

/** The functions that are deployed, and beside them those that were kept, which receive from the same SQS queues. */
export async function runBeside(
  lambda: LambdaClient,
  functions: Endpoints['functions'],
  kept: readonly Kept[],
): Promise<Record<Version, Fleet>> {
  const now: string[] = [];
  const before: string[] = [];
  const names: Record<string, string> = {};
  for (const { name, create } of kept) {
    const { FunctionName = '' } = await lambda.send(create);
    names[name] = FunctionName;
    const ofDeployed = new ListEventSourceMappingsCommand({ FunctionName: functions[name] });
    const { EventSourceMappings = [] } = await lambda.send(ofDeployed);
    for (const {
      UUID = '',
      EventSourceArn,
      BatchSize,
      FunctionResponseTypes,
      ScalingConfig,
    } of EventSourceMappings) {
      const beside = { FunctionName, EventSourceArn, BatchSize, FunctionResponseTypes, ScalingConfig };
      const created = await lambda.send(new CreateEventSourceMappingCommand(beside));
      now.push(UUID);
      before.push(created.UUID ?? '');
    }
  }
  return {
    new: { functions, mappings: now },
    old: { functions: names as Endpoints['functions'], mappings: before },
  };
}

/** Lets the functions of a version receive, or stops them after what they are doing. */
export async function setReceiving(
  lambda: LambdaClient,
  { mappings }: Fleet,
  Enabled: boolean,
): Promise<void> {
  for (const UUID of mappings) await lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
}

const answerSchema = z.object({ statusCode: z.int(), body: z.string().default('') });

/** Sends a request to the API of a version, as API Gateway would. Undefined: a refusal with one of the statuses `refused`. */
export async function callApi(
  lambda: LambdaClient,
  { functions }: Fleet,
  { method, path, body, refused = [] }: ApiCall,
): Promise<unknown> {
  const event = toEvent(method, path, body);
  const FunctionName = (path.endsWith('/receive') ? functions.secrets : undefined) ?? functions.api;
  const { Payload, FunctionError } = await lambda.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) }),
  );
  const text = Buffer.from(Payload ?? []).toString();
  assert(FunctionError === undefined, `${FunctionName}: ${text}`);
  const answer = answerSchema.parse(JSON.parse(text));
  if (refused.includes(answer.statusCode)) return undefined;
  assert(answer.statusCode < 300, `${FunctionName}, ${method} ${path}: ${answer.statusCode} ${answer.body}`);
  return answer.body === '' ? undefined : JSON.parse(answer.body);
}

function toEvent(method: string, path: string, body: unknown) {
  const [rawPath, rawQueryString = ''] = path.split('?');
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString,
    headers: { 'content-type': 'application/json' },
    requestContext: { requestId: randomUUID(), stage: '$default', http: { method, path: rawPath } },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

export type ApiCall = { method: string; path: string; body?: unknown; refused?: readonly number[] };
