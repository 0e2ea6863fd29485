/** Files by URL path. */
export type PageFiles = ReadonlyMap<string, { bytes: Buffer; headers: Readonly<Record<string, string>> }>;

/**
 * The headers of every response. The page may only load files from its server and call it. A second defence against
 * injected markup: inline scripts do not run, and Trusted Types prevent text from becoming HTML. `frameAncestors`: the
 * origins that may show the page in a frame.
 */
export function buildPageHeaders(frameAncestors: readonly string[]) {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
