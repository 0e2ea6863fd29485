import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { DeliveryRequest } from '../../../shared/domain/retry/vocabulary.ts';
import type { WebhookRequest } from '../../../shared/domain/delivery/webhook-request.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A request with its body as text. */
export type TextRequest = Omit<WebhookRequest, 'body'> & { body: string };

export type SeenRequest = { at: number; request: TextRequest; reply: Reply };

/** A subscriber's reply, and its duration in milliseconds. */
export type ScriptedReply = Reply & { takesMs?: number };

export type ScriptedSubscriber = Subscriber & {
  /** Every request, in the order of arrival. */
  readonly seen: readonly SeenRequest[];
  /** Sets the replies from now on: in order, then the last one repeatedly. */
  script(url: string, replies: readonly [ScriptedReply, ...ScriptedReply[]]): void;
  /** Called at each request before its reply, so that a test can act in the meantime. */
  onRequest: (request: WebhookRequest, count: number) => Promise<void>;
};

export const status = (
  statusCode: number,
  more: { retryAfter?: string; asks?: DeliveryRequest; snippet?: string; takesMs?: number } = {},
): ScriptedReply => ({
  kind: 'answered',
  statusCode,
  ...more,
});

export const scriptedSubscriber = (clock: VirtualClock): ScriptedSubscriber => {
  const seen: SeenRequest[] = [];
  const scripts = new Map<string, ScriptedReply[]>();

  const nextReply = (url: string): ScriptedReply => {
    const script = scripts.get(url) ?? [];
    return (script.length > 1 ? script.shift() : script[0]) ?? status(200);
  };

  const subscriber: ScriptedSubscriber = {
    seen,
    script: (url, replies) => void scripts.set(url, [...replies]),
    onRequest: () => Promise.resolve(),
    post: async (request) => {
      const { takesMs = 0, ...reply } = nextReply(request.url);
      seen.push({ at: clock.now(), request: { ...request, body: request.body.toString() }, reply });
      await subscriber.onRequest(request, seen.length);
      if (takesMs > 0) await clock.sleep(takesMs);
      return reply;
    },
  };
  return subscriber;
};
