import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import type { RequestHeader } from './curl-command.ts';

/** A request to a subscriber, as far as the API shows it. */
export type KnownRequest = {
  url: string;
  headers: readonly RequestHeader[];
  /** Undefined: the message is not stored, or cannot be rendered. */
  body: string | undefined;
  /** Names of headers whose values are redacted. */
  redacted: readonly string[];
  /** Options of curl for files that the API does not show. */
  fileOptions: readonly string[];
};

/**
 * The request of a delivery with the current URL and options. Without the time and the signature, which differ for
 * each attempt.
 */
export function knownRequest(
  { subscriber, options }: Pick<SubscriptionView, 'subscriber' | 'options'>,
  messageId: string,
  body: string | undefined,
): KnownRequest {
  const own = Object.entries(options.post_headers ?? {}).map(([name, value]): RequestHeader => [
    name.toLowerCase(),
    value,
  ]);
  own.push(...authHeader(options.auth));
  const type: RequestHeader[] = own.some(([name]) => name === 'content-type')
    ? []
    : [['content-type', 'application/json']];
  return {
    url: URL.parse(subscriber)?.href ?? subscriber,
    headers: [...type, ...own, ['accept-encoding', 'identity'], ['webhook-id', messageId]],
    body,
    redacted: own.filter(([, value]) => value === REDACTED).map(([name]) => name),
    fileOptions: fileOptionsFor(options.auth),
  };
}

function authHeader(auth: SubscriptionView['options']['auth']): RequestHeader[] {
  if (auth === undefined) return [];
  switch (auth.type) {
    case 'header':
      return [[String(auth['name']).toLowerCase(), REDACTED]];
    case 'basic':
    case 'oauth2_client_credentials':
      return [['authorization', REDACTED]];
    default:
      return [];
  }
}

function fileOptionsFor(auth: SubscriptionView['options']['auth']): string[] {
  return [
    ...(auth?.type === 'mtls' ? ['--cert', '--key'] : []),
    ...(auth?.['ca'] === undefined ? [] : ['--cacert']),
  ];
}
