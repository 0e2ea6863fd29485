/** Stands for the value of a header that carries a credential, wherever it would be shown. */
export const REDACTED = '***';

/** Rather one header too many: what is redacted can still be exported by asking for it. */
const CREDENTIAL_NAME =
  /auth|bearer|cookie|credential|hmac|jwt|key|pass|pwd|secret|session|signature|token|(?:^|[-_])(?:pin|sig)(?:$|[-_])/i;
const CREDENTIAL_VALUE = /^(?:(?:apikey|basic|bearer|digest|negotiate|token)\s|eyJ[\w-]+\.)/i;

type Headers = Record<string, string>;

/** What of a subscription's options this is about. */
type WithHeaders = { post_headers?: Headers };

/** Values of these headers that were never kept stand in the way. Names only. */
export class UnknownCredentialsError extends Error {
  override readonly name = 'UnknownCredentialsError';
  readonly headers: readonly string[];

  constructor(headers: readonly string[]) {
    super(`The headers ${headers.join(', ')} are redacted, and there is no value to keep.`);
    this.headers = headers;
  }
}

/** Options as they may be shown: without the values of headers that carry credentials. */
export function redacted<Options extends WithHeaders>(options: Options): Options {
  return withHeaders(options, (headers) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isCredential(name, value) ? REDACTED : value]),
    ),
  );
}

/** Options as another host may get them: without the headers that carry credentials. */
export function withoutCredentials<Options extends WithHeaders>(options: Options): Options {
  return withHeaders(options, (headers) =>
    Object.fromEntries(Object.entries(headers).filter(([name, value]) => !isCredential(name, value))),
  );
}

function isCredential(name: string, value: string): boolean {
  return CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUE.test(value);
}

/**
 * Options in which a redacted header has the value that it had before: what was shown can be sent back.
 * @throws UnknownCredentialsError where it had none
 */
export function unredacted<Options extends WithHeaders>(options: Options, before: WithHeaders = {}): Options {
  return withHeaders(options, (headers) => {
    const kept = new Map(
      Object.entries(before.post_headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const valueOf = (name: string, value: string) =>
      value === REDACTED ? kept.get(name.toLowerCase()) : value;
    const restored = Object.entries(headers).map(([name, value]) => [name, valueOf(name, value)] as const);
    const unknown = restored.flatMap(([name, value]) => (value === undefined ? [name] : []));
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
