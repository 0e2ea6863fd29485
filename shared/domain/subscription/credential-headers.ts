/** Shown instead of the value of a header that carries a credential. */
export const REDACTED = '***';

/** Errs on the side of redacting: an export can still include the values on request. */
const CREDENTIAL_NAME =
  /auth|bearer|cookie|credential|hmac|jwt|key|pass|pwd|secret|session|signature|token|(?:^|[-_])(?:pin|sig)(?:$|[-_])/i;
const CREDENTIAL_VALUE = /^(?:(?:apikey|basic|bearer|digest|negotiate|token)\s|eyJ[\w-]+\.)/i;

type Headers = Record<string, string>;

/** The part of a subscription's options used here. */
type WithHeaders = { post_headers?: Headers };

/** These redacted options have no stored value. Contains names only, such as `post_headers.authorization`. */
export class UnknownCredentialsError extends Error {
  override readonly name = 'UnknownCredentialsError';
  readonly options: readonly string[];

  constructor(options: readonly string[]) {
    super(`The options ${options.join(', ')} are redacted and have no stored value to keep.`);
    this.options = options;
  }
}

/** Options for display: values of credential headers are redacted. */
export function redacted<Options extends WithHeaders>(options: Options): Options {
  return withHeaders(options, (headers) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isCredential(name, value) ? REDACTED : value]),
    ),
  );
}

/** Options for another host: without the headers that carry credentials. */
export function withoutCredentials<Options extends WithHeaders>(options: Options): Options {
  return withHeaders(options, (headers) =>
    Object.fromEntries(Object.entries(headers).filter(([name, value]) => !isCredential(name, value))),
  );
}

/** Whether a header, or an attribute of an SQS message, carries a credential. */
export function isCredential(name: string, value: string): boolean {
  return CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUE.test(value);
}

/**
 * Options with the stored value of each redacted header, so that displayed options can be sent back.
 * @throws UnknownCredentialsError for a header without a stored value
 */
export function unredacted<Options extends WithHeaders>(options: Options, before: WithHeaders = {}): Options {
  return withHeaders(options, (headers) => {
    const kept = new Map(
      Object.entries(before.post_headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const restoreValue = (name: string, value: string) =>
      value === REDACTED ? kept.get(name.toLowerCase()) : value;
    const restored = Object.entries(headers).map(
      ([name, value]) => [name, restoreValue(name, value)] as const,
    );
    const unknown = restored.flatMap(([name, value]) =>
      value === undefined ? [`post_headers.${name}`] : [],
    );
    if (unknown.length > 0) throw new UnknownCredentialsError(unknown);
    return Object.fromEntries(
      restored.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
  });
}

function withHeaders<Options extends WithHeaders>(
  options: Options,
  change: (headers: Headers) => Headers,
): Options {
  return options.post_headers === undefined
    ? options
    : { ...options, post_headers: change(options.post_headers) };
}
