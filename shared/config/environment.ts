import * as z from 'zod';
import { type FunctionSources, variableRows } from './resources.ts';
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

type Environment<F extends FunctionName> = FunctionSources<F> & { readonly runtimeApi?: string | undefined };

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
