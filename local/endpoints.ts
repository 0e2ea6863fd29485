import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { localFolder } from './install/paths.mjs';
import { Problem } from './install/problem.mjs';
import { localAws, type RootKeys } from './local-aws.ts';
import { isPresent } from './presence.ts';

const resourcesSchema = z.object({
  apiUrl: z.string(),
  ingressQueueUrl: z.string(),
  deliveryQueueUrl: z.string(),
  retryQueueUrl: z.string(),
  undeliverableQueueUrl: z.string(),
  ingressDeadLetterUrl: z.string(),
  deliveryDeadLetterUrl: z.string(),
  operationQueueUrl: z.string(),
  operationDeadLetterUrl: z.string(),
  subscriptionsTable: z.string(),
  deliveriesTable: z.string(),
  scheduleGroup: z.string(),
  operatorEventBus: z.string(),
  /** JSON of the variables of a worker. Absent: an earlier version deployed it. */
  workerEnvironment: z.string().exactOptional(),
  /** How callers of the API authenticate. Absent: an earlier version deployed it. */
  apiAuthorization: z.string().exactOptional(),
  functions: z.object({
    dispatch: z.string(),
    deliver: z.string(),
    reconcile: z.string(),
    operate: z.string(),
    api: z.string(),
    /** Absent: an earlier version deployed it. */
    secrets: z.string().exactOptional(),
    /** Absent: it has no portal. */
    portal: z.string().exactOptional(),
  }),
});

const endpointsSchema = resourcesSchema.extend({
  endpoint: z.string(),
  region: z.string(),
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  /** On which the start that wrote this answers while it runs (presence.ts). */
  socket: z.string().exactOptional(),
});

/** Addresses and keys of a local deployment. */
export type Endpoints = z.infer<typeof endpointsSchema>;

/** Endpoint and keys of the local AWS account. */
export type LocalAccount = Pick<Endpoints, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;

export type Resources = z.infer<typeof resourcesSchema>;

/** The file with the endpoints of the local deployment; it exists while a start is running. */
export const endpointsFile = join(localFolder, 'endpoints.json');

const deployedSchema = z.object({ apiId: z.string(), ...resourcesSchema.shape });

const { functions: functionsSchema, ...others } = deployedSchema.shape;

/** As outputs of the stacks, the names begin with a capital, and those of the functions end with `Function`. */
const outputsSchema = z.object(
  Object.fromEntries(
    [
      ...Object.entries(others),
      ...Object.entries(functionsSchema.shape).map(([name, value]) => [`${name}Function`, value] as const),
    ].map(([name, value]) => [name.charAt(0).toUpperCase() + name.slice(1), value]),
  ),
);

/**
 * Endpoints from the stack outputs. The API's host name does not resolve locally, so its URL is built from the
 * endpoint.
 */
export function buildEndpoints(
  { endpoint, keys }: { endpoint: string; keys: RootKeys },
  outputs: unknown,
): Endpoints {
  const { apiId, ...resources } = parseResources(outputs);
  return {
    ...resources,
    ...keys,
    endpoint,
    region: localAws.region,
    apiUrl: localApiUrl(endpoint, apiId),
  };
}

/** Where the local AWS serves an HTTP API. */
export function localApiUrl(endpoint: string, apiId: string): string {
  return `${endpoint}/_aws/execute-api/${apiId}/$default`;
}

/** Resources from the stack outputs. @throws ZodError if one is missing */
export function parseResources(outputs: unknown): Resources & { apiId: string } {
  const named = Object.entries(outputsSchema.parse(outputs)).map(
    ([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value] as const,
  );
  const functions = named.flatMap(([name, value]) =>
    name.endsWith('Function') ? [[name.slice(0, -'Function'.length), value] as const] : [],
  );
  return deployedSchema.parse({
    ...Object.fromEntries(named),
    functions: Object.fromEntries(functions),
  });
}

/** SDK client options for the local AWS, as its root user. */
export function toClientOptions({ endpoint, region, accessKeyId, secretAccessKey }: LocalAccount) {
  return { endpoint, region, credentials: { accessKeyId, secretAccessKey } };
}

/**
 * The endpoints of the start that is running. `stale`: it was killed, and its ports may be those of another program now.
 * Undefined: there is none, or the file is not this user's alone to change.
 * @throws if the file has another form
 */
export async function runningEndpoints(file: string): Promise<Endpoints | 'stale' | undefined> {
  const endpoints = isOnlyOurs(file) ? readEndpoints(file) : undefined;
  if (endpoints === undefined) return undefined;
  return endpoints.socket !== undefined && (await isPresent(endpoints.socket)) ? endpoints : 'stale';
}

/** Whether it is a file of this user that no other can change: no link, which its owner could turn meanwhile. */
function isOnlyOurs(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

/** The endpoints in a file; undefined if there is none. @throws if the file has another form */
export function readEndpoints(file: string): Endpoints | undefined {
  if (!existsSync(file)) return undefined;
  return endpointsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * Writes the file atomically, because a waiting program may read it at any time. Only the user can read it: its keys
 * allow running code as the user.
 */
export function writeEndpoints(file: string, endpoints: Endpoints): void {
  mkdirSync(dirname(file), { recursive: true });
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  writeFileSync(partial, `${JSON.stringify(endpoints, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(partial, file);
}

export function removeEndpoints(file: string): void {
  rmSync(file, { force: true });
}

/** Outputs of a stack by their names in CloudFormation. */
export type Outputs = Readonly<Record<string, string>>;

/**
 * The marker of a deployment, in a stack of any name. Below a construct, CDK adds its path and a hash, but neither for the
 * id `Default`.
 */
const MARKER = /^(?:(.*)PosthasteDeployment([0-9A-F]{8})|PosthasteDeployment)$/;

/**
 * The deployments in these stacks: the name of each, its outputs by their plain names,
 * and the stack it was found in.
 */
export function deploymentsIn<Stack extends Outputs>(
  stacks: readonly Stack[],
): { name: string; outputs: Outputs; stack: Stack }[] {
  return stacks.flatMap((stack) =>
    Object.entries(stack).flatMap(([key, name]) => {
      const [isMarker, prefix = '', hash = ''] = MARKER.exec(key) ?? [];
      if (isMarker === undefined) return [];
      return [{ name, outputs: outputsBelow(prefix, hash.length, stack), stack }];
    }),
  );
}

/** The outputs below a construct, without its path and the hash. */
function outputsBelow(prefix: string, hashLength: number, stack: Outputs): Outputs {
  return Object.fromEntries(
    Object.entries(stack)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length, key.length - hashLength), value]),
  );
}

/**
 * The outputs of a CDK app with one deployment.
 * @throws Problem if the app has no deployment, or several
 */
export function outputsOfApp(stacks: readonly Outputs[]): Outputs {
  const deployments = deploymentsIn(stacks);
  const [found] = deployments;
  if (deployments.length > 1)
    throw new Problem(
      `The app has several deployments of Posthaste (${deployments.map(({ name }) => name).join(', ')}). A start can run one.`,
    );
  if (found !== undefined) return found.outputs;
  throw new Problem(
    'The app has no deployment of Posthaste: no stack has the construct Posthaste or Pipeline.',
  );
}
