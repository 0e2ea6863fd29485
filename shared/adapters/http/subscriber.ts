import type { Subscriber } from '../../ports/subscriber.ts';
import { guardedFetch, type GuardedFetch } from './guarded-fetch.ts';
import { readReply } from './exchange.ts';
import { httpSender, type HttpSenderOptions } from './sender.ts';

/** `fetch`: for token endpoints, which are as little trusted as subscribers and get the same limits. */
export type HttpSubscriber = Subscriber & { fetch: GuardedFetch };

/**
 * Posts to subscribers over HTTP/1.1. `post` returns a reply within `timeoutMs`, even if the subscriber
 * misbehaves.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function httpSubscriber(options: HttpSenderOptions): HttpSubscriber {
  const send = httpSender(options);
  return {
    post: async (request, timeoutMs, { tls } = {}) => {
      const { reply } = await send(request, { timeoutMs, tls, reading: readReply() });
      return reply;
    },
    fetch: guardedFetch(send),
  };
}
