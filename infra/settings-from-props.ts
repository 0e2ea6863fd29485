import { Duration, Token } from 'aws-cdk-lib';
import type { IVpc } from 'aws-cdk-lib/aws-ec2';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { VpcNetwork } from './constructs/functions/network.ts';
import { everyFunction } from '../shared/config/rules.ts';
import type { PosthasteProps } from './posthaste-props.ts';
import {
  type DeploymentSettings,
  overridesIn,
  parseSettings,
  settings,
  SettingsError,
  shownValue,
} from './settings.ts';

/** How a property of the constructs stands for a setting. What is absent here follows from the setting's row. */
export type Prop = {
  /** @default the name of the setting */
  readonly name?: string;
  /** In TypeScript. @default the type that the rule of the setting accepts */
  readonly type?: string;
  /** The default of the setting, in TypeScript. @default its value */
  readonly defaultText?: (value: unknown) => string;
  /** The value of the setting. An error completes "<name> …". @default the value of the property */
  readonly settingOf?: (given: unknown, props: PosthasteProps) => unknown;
  /** Whether the value may be unknown until the deployment. */
  readonly mayBeToken?: true;
};

type Key = keyof typeof settings;

/** A number in a setting, and a `Duration` in a property: one without a row here does not compile. */
type TimeKey = Extract<Key, `${string}${'Seconds' | 'Minutes' | 'Days'}`>;

/** The settings whose property does not follow from their row alone. */
const propBySetting: Readonly<Record<TimeKey, Prop> & Partial<Record<Key, Prop>>> = {
  attemptTimeoutSeconds: duration('attemptTimeout', 'seconds'),
  schedulerThreshold: duration('schedulerThreshold', 'seconds'),
  subscriptionCacheSeconds: duration('subscriptionCache', 'seconds'),
  defaultRetryPolicy: { type: 'PartialRetryPolicy | PresetName' },
  retryAfterCapSeconds: duration('retryAfterCap', 'seconds'),
  circuitWindowSeconds: duration('circuitWindow', 'seconds'),
  retentionDays: duration('retention', 'days'),
  archiveDays: duration('archive', 'days'),
  overdueAfterSeconds: duration('overdueAfter', 'seconds'),
  disableFailingAfterDays: duration('disableFailingAfter', 'days'),
  allowedAddresses: { type: 'readonly string[]' },
  allowedPorts: { type: 'readonly (number | string)[]' },
  jwtScopes: { type: "Readonly<Record<'read' | 'publish' | 'manage' | 'credentials', string>>" },
  portalFrameAncestors: { type: 'readonly string[]' },
  portalHosts: { type: 'readonly string[]' },
  ingressRoutes: { type: 'Readonly<Record<string, string | readonly string[]>>' },
  canaryMinutes: duration('canary', 'minutes'),
  batchWindowSeconds: duration('batchWindow', 'seconds'),
  memoryMegabytes: {
    type: `Readonly<Partial<Record<${everyFunction.map((name) => `'${name}'`).join(' | ')}, number>>>`,
  },
  jwtAudience: { type: 'readonly string[]' },
  ingressSenders: { type: 'readonly string[]' },
  payloadSources: { type: 'readonly PayloadSource[]' },
  zoneIds: { type: 'readonly string[]' },
  vpc: {
    type: 'IVpc | Network',
    settingOf: (given, { vpcSubnets }) => (isVpc(given) ? new VpcNetwork(given, vpcSubnets) : given),
    mayBeToken: true,
  },
  logRetentionDays: {
    name: 'logRetention',
    type: 'RetentionDays',
    defaultText: (days) => `RetentionDays.${RetentionDays[Number(days)]}`,
  },
  alarmTopicArn: { name: 'alarmTopic', type: 'ITopic', settingOf: arnOfStandardTopic, mayBeToken: true },
};

const SECONDS = { seconds: 1, minutes: 60, days: 86_400 } as const;

function duration(name: string, unit: 'seconds' | 'minutes' | 'days'): Prop {
  return {
    name,
    type: 'Duration',
    defaultText: (value) => `Duration.${unit}(${String(value)})`,
    settingOf: (given) => {
      if (!(given instanceof Duration)) throw new Error(`(${shownValue(given)}) must be a Duration`);
      return given.toSeconds({ integral: false }) / SECONDS[unit];
    },
  };
}

function isVpc(given: unknown): given is IVpc {
  return typeof given === 'object' && given !== null && 'selectSubnets' in given;
}

function arnOfStandardTopic(given: unknown): string {
  const { topicArn, fifo } = (given ?? {}) as Partial<ITopic>;
  if (topicArn === undefined) throw new Error(`(${shownValue(given)}) must be an ITopic`);
  if (fifo === true) throw new Error('must be a standard SNS topic, not a FIFO topic');
  return topicArn;
}

export function findProp(key: string): Prop {
  return { ...propBySetting }[key] ?? {};
}

/** The name of each setting's property. */
export const propNames = Object.fromEntries(
  Object.keys(settings).map((key): [string, string] => [key, findProp(key).name ?? key]),
);

/**
 * Settings from the properties of a construct. The context key `posthaste`, an object of settings, overrides them; its
 * nulls stand for "not set".
 * @throws SettingsError naming each invalid property with its value and rule
 */
export function settingsFromProps(scope: Construct, props: PosthasteProps): DeploymentSettings {
  const overrides = overridesIn(scope.node.tryGetContext('posthaste'));
  // Problems of overrides keep the words of the context.
  const renamed = (problem: string) =>
    Object.hasOwn(overrides, /^\w*/.exec(problem)?.[0] ?? '')
      ? problem
      : problem.replaceAll(/\w+/g, (word) =>
          Object.hasOwn(propNames, word) ? String(propNames[word]) : word,
        );
  const values = toValues(props);
  try {
    return parseSettings({ ...values, ...overrides });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new SettingsError(error.problems.map(renamed));
  }
}

/** The settings that properties stand for. */
function toValues(props: PosthasteProps): Record<string, unknown> {
  const problems = misplacedIn(props);
  const given: Readonly<Record<string, unknown>> = { ...props };
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(settings)) {
    const prop = findProp(key);
    const { name = key } = prop;
    if (given[name] === undefined) continue;
    try {
      values[key] = toValue(prop, given[name], props);
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return values;
}

function misplacedIn(props: PosthasteProps): string[] {
  // The last belongs to `vpc`.
  const known = [...Object.values(propNames), 'vpcSubnets'];
  const problems = Object.keys(props)
    .filter((name) => !known.includes(name))
    .map((name) => `${name} is not a property. The properties are: ${known.join(', ')}`);
  const alone = props.vpcSubnets !== undefined && props.vpc === undefined;
  return alone ? [...problems, 'vpcSubnets has an effect only with vpc'] : problems;
}

/** @throws Error that completes "<name> …" */
function toValue({ settingOf, mayBeToken }: Prop, given: unknown, props: PosthasteProps): unknown {
  if (mayBeToken !== true && hasToken(given))
    throw new Error('must be known at synthesis, but is or contains a token of CDK');
  return settingOf === undefined ? given : settingOf(given, props);
}

/** Looks into lists and plain objects. */
function hasToken(value: unknown): boolean {
  if (Token.isUnresolved(value)) return true;
  if (value instanceof Duration) return value.isUnresolved();
  if (Array.isArray(value)) return value.some(hasToken);
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).some(hasToken);
}
