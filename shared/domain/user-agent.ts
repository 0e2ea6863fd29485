/**
 * `user-agent` of requests to subscribers: the product, and as a comment the page that says what it is, if there is one
 * (RFC 9110 §10.1.5).
 */
export const userAgentOf = ({ version, page }: { version: string; page?: string | undefined }): string =>
  page === undefined ? `Posthaste/${version}` : `Posthaste/${version} (+${page})`;
