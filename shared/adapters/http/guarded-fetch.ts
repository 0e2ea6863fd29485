import type { ClientTls } from '../../ports/subscriber.ts';
import { type AllowedPlaces, subscriberUrlFault } from './address-guard.ts';
import { readWhole } from './exchange.ts';
import type { Send } from './sender.ts';

/**
 * The fault of a token endpoint's URL that can be found without DNS, in the words of `subscriberUrlFault`. Always https,
 * because a secret is sent to it.
 * @throws InvalidAddressRange, InvalidPortRange
 */
export function tokenUrlFault(text: string, places: AllowedPlaces): string | undefined {
  if (!/^https:/i.test(text)) return 'must be an https URL';
  const fault = subscriberUrlFault(text, places);
  return fault === undefined && text.includes('#') ? 'must not contain a fragment' : fault;
}

/**
 * As much of the standard `fetch` as a form needs that is posted to a stranger. Resolves within `timeoutMs` with a
 * complete response of at most 64 KB, of whose headers only `content-type` is kept. Redirects are not followed.
 * @throws NoResponse, RequestNotSentError
 */
export type GuardedFetch = (
  url: string,
  init: { headers: Record<string, string>; body: URLSearchParams },
  options: { timeoutMs: number; tls?: ClientTls },
) => Promise<Response>;

/** No complete response came. The message is fit for records: it has no address and nothing that the server sent. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
}

export function guardedFetch(send: Send): GuardedFetch {
  return async (url, { headers, body }, { timeoutMs, tls }) => {
    const reading = readWhole();
    const request = {
      url,
      headers: { ...headers, 'accept-encoding': 'identity' },
      body: Buffer.from(body.toString()),
    };
    const { reply, isWhole } = await send(request, { timeoutMs, tls, reading });
    switch (reply.kind) {
      case 'forbidden':
        throw new NoResponse('address_forbidden');
      case 'unanswered':
        throw new NoResponse([reply.error, reply.detail].filter((text) => text !== undefined).join(': '));
      case 'answered':
        if (!isWhole) throw new NoResponse('invalid_response: too long or broken off');
        return buildResponse(reply.statusCode, reading.contentType(), reading.body());
    }
  };
}

/** A `Response` has a status of 200 to 599, and some statuses have no body (Fetch Standard §2.2.3). */
function buildResponse(status: number, contentType: string | undefined, body: Buffer): Response {
  if (status < 200 || status > 599) throw new NoResponse(`status ${status}`);
  return new Response(NULL_BODY.has(status) ? null : new Uint8Array(body), {
    status,
    headers: contentType === undefined ? {} : { 'content-type': contentType },
  });
}

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
