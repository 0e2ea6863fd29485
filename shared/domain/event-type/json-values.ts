import { isJsonObject } from '../json.ts';

/**
 * Whether two JSON values are equal as JSON Schema says: 1 equals 1.0, and the order of properties is of no account. Goes as
 * deep as the first value. `spend` is called for each pair of values with the names that are read, and may throw.
 */
export function isEqual(first: unknown, second: unknown, spend: (names: number) => void): boolean {
  spend(0);
  if (Array.isArray(first)) {
    if (!Array.isArray(second) || first.length !== second.length) return false;
    const others: readonly unknown[] = second;
    return first.every((item, index) => isEqual(item, others[index], spend));
  }
  if (!isJsonObject(first) || !isJsonObject(second)) return first === second;
  const names = Object.keys(first);
  const others = Object.keys(second).length;
  spend(others);
  return (
    names.length === others &&
    names.every((name) => Object.hasOwn(second, name) && isEqual(first[name], second[name], spend))
  );
}

/**
 * A text that two JSON values share only if they are equal. `spend` is called for each value with its length and depth, and
 * may throw.
 */
export function canonicalText(
  value: unknown,
  spend: (characters: number, depth: number) => void,
  depth = 0,
): string {
  spend(typeof value === 'string' ? value.length : 1, depth);
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalText(item, spend, depth + 1)).join(',')}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value)
      .toSorted()
      .map((name) => {
        spend(name.length, depth);
        return `${JSON.stringify(name)}:${canonicalText(value[name], spend, depth + 1)}`;
      });
    return `{${members.join(',')}}`;
  }
  // JSON has no text for a number beyond double precision, which JSON.parse reads as Infinity.
  return typeof value === 'number' ? String(value + 0) : JSON.stringify(value);
}

/** Whether a JSON value is of a type of JSON Schema. */
export function isOfType(type: unknown, data: unknown): boolean {
  switch (type) {
    case 'null':
      return data === null;
    case 'array':
      return Array.isArray(data);
    case 'object':
      return isJsonObject(data);
    case 'integer':
      return isInteger(data);
    default:
      return typeof data === type;
  }
}

/** A number too large for double precision is infinite here, and counts as an integer. */
function isInteger(value: unknown): boolean {
  return Number.isInteger(value) || value === Infinity || value === -Infinity;
}

/** Code points, as JSON Schema counts them. */
export function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1;
  return count;
}

/**
 * Whether one number is a multiple of the other, as decimals: 19.99 is one of 0.01, though not in binary. Numbers are what
 * their shortest decimal text says. One beyond double precision counts as a multiple.
 */
export function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || divisor <= 0) return true;
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [dividend, by] = [toDecimal(value), toDecimal(divisor)];
  const exponent = Math.min(dividend.exponent, by.exponent);
  return scale(dividend, exponent) % scale(by, exponent) === 0n;
}

/** `digits` × 10 ^ `exponent`. */
type Decimal = { digits: bigint; exponent: number };

function toDecimal(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function scale({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}

const MAX_QUOTED = 64;

/** A name or a pattern of the schema, short enough for a message. */
export function clip(text: unknown): string {
  const quoted = JSON.stringify(text);
  return quoted.length > MAX_QUOTED ? `${quoted.slice(0, MAX_QUOTED)}…` : quoted;
}
