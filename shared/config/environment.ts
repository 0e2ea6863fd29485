import * as z from 'zod';
import { type VariableValues, variableRows } from './resources.ts';
import { type FunctionName, type Variable, wholeNumber } from './rules.ts';

/** Missing or invalid environment variables of a function. Names variables and rules, never values. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The environment is incomplete or wrong: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** Environment variables by name. @default those of the process */
export type Source = Readonly<Record<string, string | undefined>>;

/** Variables that Lambda sets; the emulator does not set them. */
const setByLambda = {
  runtimeApi: {
    variable: 'AWS_LAMBDA_RUNTIME_API',
    functions: ['deliver', 'api'],
    rule: z
      .string()
      .refine((host) => URL.canParse(`http://${host}`), 'is not a host')
      .optional(),
  },
  /** Of a local AWS. */
  awsEndpoint: {
    variable: 'AWS_ENDPOINT_URL',
    functions: ['portal'],
    rule: z.string().optional(),
  },
  memoryMegabytes: {
    variable: 'AWS_LAMBDA_FUNCTION_MEMORY_SIZE',
    functions: ['deliver'],
    // Not the bounds of the setting: Lambda may raise its own.
    rule: wholeNumber('megabytes', 1, 1_000_000).optional(),
  },
} satisfies Record<string, Variable>;

const everyRow: Readonly<Record<string, Variable>> = { ...variableRows, ...setByLambda };

/** The environment of a function, by row keys. */
export type Environment<F extends FunctionName> = VariableValues<F> & {
  readonly [K in keyof typeof setByLambda]?: z.output<(typeof setByLambda)[K]['rule']>;
};

/** The values of the rows that list the function. @throws EnvironmentError with every invalid variable */
export function readEnvironment<F extends FunctionName>(name: F, source?: Source): Environment<F>;
export function readEnvironment(name: FunctionName, source: Source = process.env): unknown {
  const problems: string[] = [];
  const rows = Object.entries(everyRow).filter(([, { functions }]) => functions.includes(name));
  const values = rows.map(([key, row]): [string, unknown] => {
    const text = source[row.variable];
    // `jitless`: each value is parsed once, so compiling a parser would take longer than it saves.
    const parsed = (row.read ?? row.rule).safeParse(text, { jitless: true });
    if (!parsed.success) problems.push(...describeProblems(row.variable, text, parsed.error));
    return [key, parsed.data];
  });
  if (problems.length > 0) throw new EnvironmentError(problems);
  return Object.fromEntries(values);
}

function describeProblems(variable: string, text: string | undefined, { issues }: z.ZodError): string[] {
  if (text === undefined) return [`${variable} is missing`];
  if (text === '') return [`${variable} is empty`];
  return issues.map(({ path, message }) => `${[variable, ...path].join('.')} ${message}`);
}
