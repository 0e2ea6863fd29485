import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { OutOfTimeError, requestMs, type CallDeadline } from './invocation-deadline.ts';

/** In milliseconds. A service that does not connect within this is asked again on another connection. */
const CONNECTION_TIMEOUT_MS = 1_000;

/** In milliseconds; far above what these services take for the at most 1 MiB that we send and read. */
const REQUEST_TIMEOUT_MS = 3_000;

type Handle = NodeHttpHandler['handle'];

/**
 * Requests that end: with a whole answer, or with an error that the SDK repeats. By default it waits without end, and its
 * own timeout is over once the headers are there; reading the body here makes a broken one a reason to repeat as well.
 */
export class RequestsUntilDeadline extends NodeHttpHandler {
  readonly #deadline: CallDeadline;

  constructor(deadline: CallDeadline) {
    super({ connectionTimeout: CONNECTION_TIMEOUT_MS, throwOnRequestTimeout: true });
    this.#deadline = deadline;
  }

  /** @throws OutOfTimeError before the request is made */
  override async handle(...[request, options]: Parameters<Handle>): ReturnType<Handle> {
    const timeoutMs = requestMs(this.#deadline, REQUEST_TIMEOUT_MS);
    if (timeoutMs <= 0) throw new OutOfTimeError();
    const endsAt = performance.now() + timeoutMs;
    const { response } = await super.handle(request, { ...options, requestTimeout: timeoutMs });
    if (response.body instanceof Readable)
      response.body = await wholeBody(response.body, endsAt - performance.now());
    return { response };
  }
}

/** What has arrived whole, to be read again. */
const wholeBody = async (body: Readable, timeoutMs: number): Promise<Readable> => {
  const timer = setTimeout(() => {
    body.destroy(
      Object.assign(new Error('The answer did not arrive whole in time.'), { name: 'TimeoutError' }),
    );
  }, timeoutMs);
  try {
    return Readable.from(await buffer(body));
  } finally {
    clearTimeout(timer);
  }
};
