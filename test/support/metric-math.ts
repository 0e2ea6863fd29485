/** A value of each metric for one period; undefined: there is no data point. */
export type Period = Readonly<Record<string, number | undefined>>;

type Value = number | undefined | readonly (number | undefined)[];

const TOKEN = /\s*(>=|==|[A-Za-z]\w*|[\d.]+|[()[\],><*/+-])/gy;

/** Operators by precedence, lowest first ("Using metric math", CloudWatch user guide). */
const OPERATORS: readonly (readonly string[])[] = [
  ['OR'],
  ['AND'],
  ['>', '>=', '=='],
  ['+', '-'],
  ['*', '/'],
];

/** Lambda's default quota of concurrent executions, the only one for which alarms ask. */
const QUOTA = 1000;

/**
 * Evaluates the subset of CloudWatch metric math that the project's alarms use, for one period. An operator on a
 * metric without data gives no value; `SUM` treats it as 0, and `FILL` replaces it.
 * @throws Error for syntax it does not know
 */
export function metricMath(expression: string, period: Period): number | undefined {
  const tokens = [...expression.matchAll(TOKEN)].map(([, token = '']) => token);
  if (tokens.join('') !== expression.replaceAll(/\s/g, '')) throw new Error(`cannot parse ${expression}`);

  const expect = (token: string): void => {
    const next = tokens.shift();
    if (next !== token) throw new Error(`${token} is missing before ${next ?? 'the end'} in ${expression}`);
  };

  const list = (end: string): Value[] => {
    const values = [operation(0)];
    while (tokens[0] === ',') {
      tokens.shift();
      values.push(operation(0));
    }
    expect(end);
    return values;
  };

  const operand = (): Value => {
    const token = tokens.shift() ?? '';
    if (token === '[') return list(']').map(single);
    if (token === '(') {
      const value = operation(0);
      expect(')');
      return value;
    }
    if (/^[\d.]/.test(token)) return Number(token);
    if (tokens[0] !== '(') return period[token];
    tokens.shift();
    return called(token, list(')'));
  };

  const operation = (level: number): Value => {
    const operators = OPERATORS[level];
    if (operators === undefined) return operand();
    let left = operation(level + 1);
    while (operators.includes(tokens[0] ?? '')) {
      const operator = tokens.shift() ?? '';
      left = applied(operator, single(left), single(operation(level + 1)));
    }
    return left;
  };

  const value = single(operation(0));
  if (tokens.length > 0) throw new Error(`${tokens.join(' ')} is left of ${expression}`);
  return value;
}

function single(value: Value): number | undefined {
  if (typeof value === 'object') throw new TypeError('a list has no one value');
  return value;
}

function applied(operator: string, left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return undefined;
  switch (operator) {
    case 'OR':
      return Number(left !== 0 || right !== 0);
    case 'AND':
      return Number(left !== 0 && right !== 0);
    case '>':
      return Number(left > right);
    case '>=':
      return Number(left >= right);
    case '==':
      return Number(left === right);
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      throw new Error(`no operator ${operator}`);
  }
}

function called(name: string, given: readonly Value[]): number | undefined {
  const [first, ...rest] = given;
  switch (name) {
    case 'IF':
      return single(first) === undefined ? undefined : single(single(first) === 0 ? rest[1] : rest[0]);
    case 'FILL':
      return single(first) ?? single(rest[0]);
    case 'SUM':
      if (typeof first !== 'object') throw new TypeError('SUM takes a list');
      return first.reduce<number>((sum, value) => sum + (value ?? 0), 0);
    case 'MAX':
      if (typeof first !== 'object') throw new TypeError('MAX takes a list');
      return Math.max(...first.filter((value) => value !== undefined));
    case 'SERVICE_QUOTA':
      return QUOTA;
    default:
      throw new Error(`no function ${name}`);
  }
}
