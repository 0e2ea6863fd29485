import { z } from 'zod';
import { administrationSettings } from './settings/administration-settings.ts';
import { capacitySettings } from './settings/capacity-settings.ts';
import { deliverySettings } from './settings/delivery-settings.ts';
import { ingressSettings } from './settings/ingress-settings.ts';
import { networkSettings } from './settings/network-settings.ts';
import { observationSettings } from './settings/observation-settings.ts';
import { flag } from './settings/rules.ts';

/** Where a subscriber on the operator's own machine lives; allowed in `local` only. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const;

/** Messages that Lambda takes from SQS at once without waiting for more. */
const MOST_WITHOUT_WINDOW = 10;

const DEPLOYMENT_RULE = 'must start with a letter and hold at most 64 letters, digits and hyphens';

const schema = z.strictObject({
  /** Prefix of the stacks' names, and this deployment's name in logs and metrics. Default `Posthaste`. */
  deployment: z
    .string(DEPLOYMENT_RULE)
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, DEPLOYMENT_RULE)
    .default('Posthaste'),
  /**
   * For a laptop: everything can be deleted (no deletion protection, no point-in-time recovery), subscribers on loopback
   * are allowed, and `apiAuthorization` may be `none`. Nothing else differs. Default false.
   */
  local: flag().default(false),
  ...deliverySettings,
  ...capacitySettings,
  ...ingressSettings,
  ...administrationSettings,
  ...observationSettings,
  ...networkSettings,
});

type Parsed = z.output<typeof schema>;

/** How callers of the API prove who they are. */
export type ApiAuthorization =
  { kind: 'iam' } | { kind: 'jwt'; issuer: string; audience: readonly string[] } | { kind: 'none' };

/** What an operator can set about a deployment. Given by CDK context: `-c key=value`, or `context` in cdk.json. */
export type DeploymentSettings = Readonly<Omit<Parsed, 'apiAuthorization' | 'jwtIssuer' | 'jwtAudience'>> & {
  readonly apiAuthorization: ApiAuthorization;
};

/** Settings that cannot be deployed; each problem starts with the context key. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`These settings cannot be deployed:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * Validates and completes settings.
 * @throws SettingsError naming every key that is wrong, and what it may be.
 */
export function parseSettings(given: Readonly<Record<string, unknown>>): DeploymentSettings {
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw new SettingsError(parsed.error.issues.flatMap(problemsOf));
  const settings = parsed.data;
  const apiAuthorization = authorizationOf(settings);
  if (settings.vpc !== undefined && settings.staticAddresses > 0)
    throw new SettingsError([
      'staticAddresses makes a VPC of its own, and cannot be given together with vpc',
    ]);
  if (settings.messagesPerBatch > MOST_WITHOUT_WINDOW && settings.batchWindowSeconds === 0)
    throw new SettingsError([
      `messagesPerBatch over ${MOST_WITHOUT_WINDOW} needs batchWindowSeconds, 1 at least`,
    ]);
  const allowedAddresses = settings.local
    ? [...settings.allowedAddresses, ...LOOPBACK]
    : settings.allowedAddresses;
  return { ...settings, allowedAddresses, apiAuthorization };
}

/**
 * Settings from all of an app's context. CDK's own keys hold a colon, a hyphen or an at sign, ours letters only: so a
 * misspelt setting is told from them, and refused.
 * @throws SettingsError
 */
export function settingsFromContext(context: unknown): DeploymentSettings {
  const entries = Object.entries(z.record(z.string(), z.unknown()).parse(context));
  return parseSettings(Object.fromEntries(entries.filter(([key]) => /^[A-Za-z0-9_]+$/.test(key))));
}

function problemsOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(schema.shape).join(', ');
    return issue.keys.map((key) => `${key} is no setting. There are: ${known}`);
  }
  const [key, ...rest] = issue.path.map(String);
  return [`${[key, ...rest].join('.')} ${issue.message}`];
}

function authorizationOf({ apiAuthorization, local, jwtIssuer, jwtAudience }: Parsed): ApiAuthorization {
  if (apiAuthorization === 'jwt') return { kind: 'jwt', ...tokensOf({ jwtIssuer, jwtAudience }) };
  const unused = Object.entries({ jwtIssuer, jwtAudience }).filter(([, value]) => value !== undefined);
  const problems = unused.map(([key]) => `${key} is of use only with apiAuthorization=jwt`);
  if (apiAuthorization === 'none' && !local)
    problems.push('apiAuthorization may be none only with local=true');
  if (problems.length > 0) throw new SettingsError(problems);
  return { kind: apiAuthorization };
}

function tokensOf({ jwtIssuer, jwtAudience }: Pick<Parsed, 'jwtIssuer' | 'jwtAudience'>) {
  if (jwtIssuer !== undefined && jwtAudience !== undefined)
    return { issuer: jwtIssuer, audience: jwtAudience };
  const missing = Object.entries({ jwtIssuer, jwtAudience }).filter(([, value]) => value === undefined);
  throw new SettingsError(missing.map(([key]) => `${key} is needed with apiAuthorization=jwt`));
}
