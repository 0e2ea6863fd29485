import * as z from 'zod';
import { type Given, variableRows } from './resources.ts';
import type { FunctionName, Variable } from './rules.ts';

/** A function's environment is not what its code needs. Names variables and rules, never values. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The environment is incomplete or wrong: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

type Source = Readonly<Record<string, string | undefined>>;

type Row = Pick<Variable, 'variable' | 'rule' | 'read'>;

/** What Lambda sets itself; the emulator does not. */
const setByLambda = {
  runtimeApi: {
    variable: 'AWS_LAMBDA_RUNTIME_API',
    functions: ['deliver', 'api'],
    rule: z
      .string()
      .refine((host) => URL.canParse(`http://${host}`), 'is no host')
      .optional(),
  },
} satisfies Record<string, Variable>;

const everyRow: Readonly<Record<string, Variable>> = { ...variableRows, ...setByLambda };

type Environment<F extends FunctionName> = Given<F> & { readonly runtimeApi?: string | undefined };

/** What a function gets: the rows that name it. @throws EnvironmentError naming every variable that is wrong */
function environmentOf<F extends FunctionName>(name: F, source?: Source): Environment<F>;
function environmentOf(name: FunctionName, source: Source = process.env): unknown {
  return read(
    Object.fromEntries(Object.entries(everyRow).filter(([, { functions }]) => functions.includes(name))),
    source,
  );
}

function read<R extends Readonly<Record<string, Row>>>(
  rows: R,
  source: Source,
): { [K in keyof R]: z.output<R[K]['rule']> };
function read(rows: Readonly<Record<string, Row>>, source: Source): unknown {
  const problems: string[] = [];
  const values = Object.entries(rows).map(([key, row]): [string, unknown] => {
    const text = source[row.variable];
    // Read once: zod would take longer to compile a reader than the reading takes.
    const parsed = (row.read ?? row.rule).safeParse(text, { jitless: true });
    if (!parsed.success) problems.push(...problemsOf(row.variable, text, parsed.error));
    return [key, parsed.data];
  });
  if (problems.length > 0) throw new EnvironmentError(problems);
  return Object.fromEntries(values);
}

function problemsOf(variable: string, text: string | undefined, { issues }: z.ZodError): string[] {
  if (text === undefined) return [`${variable} is missing`];
  if (text === '') return [`${variable} is empty`];
  return issues.map(({ path, message }) => `${[variable, ...path].join('.')} ${message}`);
}

const required = z.string().min(1);

const endpoint = z.union([z.literal('').transform(() => undefined), z.url('is not a URL')]).optional();

/** Endpoints of another kind than the region's usual ones have rules by service and region, which are the SDK's. */
const usualOnly = z
  .string()
  .refine(
    (flag) => flag !== 'true',
    'is not supported: name the endpoints instead (AWS_ENDPOINT_URL_DYNAMODB, _SQS, _KMS)',
  )
  .optional();

/** Set by Lambda, and "Service-specific endpoints" of the AWS SDKs and tools reference guide. */
const awsRows = {
  serviceDomain: variableRows.serviceDomain,
  region: { variable: 'AWS_REGION', rule: required },
  accessKeyId: { variable: 'AWS_ACCESS_KEY_ID', rule: required },
  secretAccessKey: { variable: 'AWS_SECRET_ACCESS_KEY', rule: required },
  sessionToken: { variable: 'AWS_SESSION_TOKEN', rule: z.string().optional() },
  endpoint: { variable: 'AWS_ENDPOINT_URL', rule: endpoint },
  dynamodb: { variable: 'AWS_ENDPOINT_URL_DYNAMODB', rule: endpoint },
  sqs: { variable: 'AWS_ENDPOINT_URL_SQS', rule: endpoint },
  kms: { variable: 'AWS_ENDPOINT_URL_KMS', rule: endpoint },
  fips: { variable: 'AWS_USE_FIPS_ENDPOINT', rule: usualOnly },
  dualStack: { variable: 'AWS_USE_DUALSTACK_ENDPOINT', rule: usualOnly },
};

/**
 * Where AWS's services are and who asks them. Lambda gives a function its credentials by the environment, for all its life
 * ("Defined runtime environment variables", Lambda developer guide).
 * @throws EnvironmentError
 */
export function awsEnvironment(source: Source = process.env) {
  const { region, serviceDomain, ...given } = read(awsRows, source);
  const endpointOf = (service: 'dynamodb' | 'sqs' | 'kms'): string =>
    given[service] ?? given.endpoint ?? `https://${service}.${region}.${serviceDomain}`;
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  return {
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) },
    endpoint: { dynamodb: endpointOf('dynamodb'), sqs: endpointOf('sqs'), kms: endpointOf('kms') },
    /** X-Ray's, of the invocation under way: Lambda changes it. */
    traceId: () => source['_X_AMZN_TRACE_ID'],
  };
}

/** What dispatch needs. @throws EnvironmentError */
export function dispatchEnvironment(source?: Source) {
  return environmentOf('dispatch', source);
}

/** What deliver needs. @throws EnvironmentError */
export function deliverEnvironment(source?: Source) {
  return environmentOf('deliver', source);
}

/** What reconcile needs. @throws EnvironmentError */
export function reconcileEnvironment(source?: Source) {
  return environmentOf('reconcile', source);
}

/** What operate needs. @throws EnvironmentError */
export function operateEnvironment(source?: Source) {
  return environmentOf('operate', source);
}

/** What the API needs. @throws EnvironmentError */
export function apiEnvironment(source?: Source) {
  return environmentOf('api', source);
}
