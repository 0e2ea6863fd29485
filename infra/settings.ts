import { inspect } from 'node:util';
import { z } from 'zod';
import { type FunctionName, MEMORY_MEGABYTES, parseValue, type Setting } from '../shared/config/rules.ts';
import { functionSettings } from '../shared/config/settings.ts';
import { MAX_CONCURRENT_ATTEMPTS } from '../shared/domain/delivery/fan-out.ts';
import { deploymentSettings } from './deployment-settings.ts';

/** All settings. */
export const settings = { ...functionSettings, ...deploymentSettings };

type Rows = typeof settings;

type Parsed = {
  readonly [K in keyof Rows]: Rows[K] extends { readonly default: unknown }
    ? z.output<Rows[K]['rule']>
    : z.output<Rows[K]['rule']> | undefined;
};

/** How callers of the API authenticate. */
export type ApiAuthorization =
  | { kind: 'iam' }
  | { kind: 'jwt'; issuer: string; audience: readonly string[] }
  | { kind: 'none' };

/** The settings of a deployment, from the CDK context: `-c key=value`, or `context` in cdk.json. */
export type DeploymentSettings = Omit<
  Parsed,
  'apiAuthorization' | 'jwtIssuer' | 'jwtAudience' | 'memoryMegabytes'
> & {
  readonly apiAuthorization: ApiAuthorization;
  readonly memoryMegabytes: Readonly<Record<FunctionName, number>>;
};

/** Settings that cannot be deployed. Each problem starts with the context key, or the property of the construct. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`These settings cannot be deployed:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** Subscribers on the operator's machine, which only `local` allows. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const;

/** Lambda's largest batch from SQS without a batch window. */
const MAX_BATCH_WITHOUT_WINDOW = 10;

/** Megabytes. Ten messages with 1 MiB of data each need up to 300 while filters read all of them. */
const MEMORY_WITH_SOURCES = 1_024;

/**
 * Validates and completes settings.
 * @throws SettingsError naming every invalid key and its rule
 */
export function parseSettings(given: Readonly<Record<string, unknown>>): DeploymentSettings {
  const parsed = parseRows(given);
  const apiAuthorization = buildAuthorization(parsed);
  if (parsed.vpc !== undefined && parsed.staticAddresses > 0)
    throw new SettingsError(['staticAddresses creates a separate VPC, so it cannot be combined with vpc']);
  if (parsed.messagesPerBatch > MAX_BATCH_WITHOUT_WINDOW && parsed.batchWindowSeconds === 0)
    throw new SettingsError([
      `messagesPerBatch over ${MAX_BATCH_WITHOUT_WINDOW} needs batchWindowSeconds over 0`,
    ]);
  requirePortal(parsed);
  const { zoneIds } = parsed;
  if (zoneIds !== undefined) requireZones(zoneIds, parsed.staticAddresses);
  const attemptsAtOnce = parsed.firstAttemptsPerJob * parsed.messagesPerBatch;
  if (attemptsAtOnce > MAX_CONCURRENT_ATTEMPTS)
    throw new SettingsError([
      `firstAttemptsPerJob × messagesPerBatch is ${attemptsAtOnce}, but must be at most ${MAX_CONCURRENT_ATTEMPTS}, the connections of one function`,
    ]);
  const allowedAddresses = parsed.local ? [...parsed.allowedAddresses, ...LOOPBACK] : parsed.allowedAddresses;
  return { ...parsed, allowedAddresses, apiAuthorization, memoryMegabytes: completeMemory(parsed) };
}

/** Without a portal, its settings would only be in the environment of functions. */
function requirePortal({ portal, ...parsed }: Parsed): void {
  const unused = Object.entries(parsed).filter(
    ([key, value]) => !portal && key.startsWith('portal') && value !== undefined,
  );
  if (unused.length > 0)
    throw new SettingsError(unused.map(([key]) => `${key} has an effect only with portal=true`));
}

function requireZones([one, other]: readonly string[], staticAddresses: number): void {
  if (staticAddresses === 0) throw new SettingsError(['zoneIds has an effect only with staticAddresses']);
  if (one === other) throw new SettingsError(['zoneIds must be two different zones']);
}

function completeMemory({ memoryMegabytes, payloadSources }: Parsed): DeploymentSettings['memoryMegabytes'] {
  const usual = payloadSources.length > 0 ? MEMORY_WITH_SOURCES : MEMORY_MEGABYTES.dispatch;
  return { ...memoryMegabytes, dispatch: memoryMegabytes.dispatch ?? usual };
}

/**
 * Settings in an app's whole context, and in its key `posthaste`, which wins. Skips CDK's keys, which contain a colon, a
 * hyphen or an at sign; settings contain only letters, so misspelt ones are refused.
 * @throws SettingsError
 */
export function settingsInContext(context: unknown): Record<string, unknown> {
  const { posthaste, ...rest } = z.record(z.string(), z.unknown()).parse(context);
  const given = Object.entries(rest).filter(([key]) => /^[A-Za-z0-9_]+$/.test(key));
  return { ...Object.fromEntries(given), ...overridesIn(posthaste) };
}

const overrides = z.preprocess(parseValue, z.record(z.string(), z.unknown()).default({}));

/**
 * The settings in the context key `posthaste`: an object, or JSON. They override the properties of constructs.
 * @throws SettingsError
 */
export function overridesIn(posthaste: unknown): Record<string, unknown> {
  const parsed = overrides.safeParse(posthaste);
  if (!parsed.success)
    throw new SettingsError(['the context key posthaste must be a JSON object of settings']);
  return parsed.data;
}

/** Validates each value by the rule of its row. */
function parseRows(given: Readonly<Record<string, unknown>>): Parsed;
function parseRows(given: Readonly<Record<string, unknown>>): unknown {
  const problems = Object.keys(given)
    .filter((key) => !Object.hasOwn(settings, key))
    .map((key) => `${key} is not a setting. The settings are: ${Object.keys(settings).join(', ')}`);
  const values = Object.entries(settings).map(([key, row]: [string, Setting]): [string, unknown] => {
    const value = given[key] ?? row.default;
    if (value === undefined) return [key, undefined];
    const parsed = row.rule.safeParse(value, { reportInput: true });
    if (parsed.success) problems.push(...tooLong(key, row, parsed.data));
    else problems.push(...parsed.error.issues.map((issue) => formatProblem(key, issue)));
    return [key, parsed.data];
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.fromEntries(values);
}

/** "<key> (<value>) must be …" */
function formatProblem(key: string, { path, message, input }: z.core.$ZodIssue): string {
  return `${[key, ...path].join('.')} (${shownValue(input)}) ${message}`;
}

/** In one line of at most 200 characters. */
export function shownValue(value: unknown): string {
  return inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 100 }).slice(0, 200);
}

function tooLong(key: string, { longest }: Setting, value: unknown): string[] {
  return longest !== undefined && JSON.stringify(value).length > longest
    ? [`${key} must be at most ${longest} characters as JSON`]
    : [];
}

function buildAuthorization({ apiAuthorization, local, ...given }: Parsed): ApiAuthorization {
  const { jwtIssuer, jwtAudience, jwtScopes, jwtQueuesClaim } = given;
  if (apiAuthorization === 'jwt') return { kind: 'jwt', ...requireTokens({ jwtIssuer, jwtAudience }) };
  const ofTokens = { jwtIssuer, jwtAudience, jwtScopes, jwtQueuesClaim };
  const unused = Object.entries(ofTokens).filter(([, value]) => value !== undefined);
  const problems = unused.map(([key]) => `${key} has an effect only with apiAuthorization=jwt`);
  if (apiAuthorization === 'none' && !local)
    problems.push('apiAuthorization can be none only with local=true');
  if (problems.length > 0) throw new SettingsError(problems);
  return { kind: apiAuthorization };
}

function requireTokens({ jwtIssuer, jwtAudience }: Pick<Parsed, 'jwtIssuer' | 'jwtAudience'>) {
  if (jwtIssuer !== undefined && jwtAudience !== undefined)
    return { issuer: jwtIssuer, audience: jwtAudience };
  const missing = Object.entries({ jwtIssuer, jwtAudience }).filter(([, value]) => value === undefined);
  throw new SettingsError(missing.map(([key]) => `${key} is required with apiAuthorization=jwt`));
}
