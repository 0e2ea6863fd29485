import { Readable } from 'node:stream';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { MOST_ATTEMPTS_AT_ONCE } from '../../domain/delivery/fan-out.ts';
import { OutOfTimeError, requestMs, type CallDeadline } from '../lambda/invocation-deadline.ts';

/** In milliseconds. A service that does not connect within this is asked again on another connection. */
const CONNECTION_TIMEOUT_MS = 1_000;

/** In milliseconds; far above what these services take for the at most 1 MiB that we send and read. */
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * A full batch finds a connection for each of its calls: a call that waits for one counts the wait as time to connect, and is
 * given up. The SDK's own bound is 50. Of the connections, 50 are kept when there is nothing to do.
 */
const CONNECTIONS = { keepAlive: true, maxSockets: MOST_ATTEMPTS_AT_ONCE, maxFreeSockets: 50 };

type Handle = NodeHttpHandler['handle'];

/** What the client is given to read: S3's wants a stream, the others take bytes, which cost them less. */
export type AnswerForm = 'stream' | 'bytes';

/**
 * Requests that end: with a whole answer, or with an error that the SDK repeats. By default it waits without end, and its
 * own timeout is over once the headers are there; reading the body here makes a broken one a reason to repeat as well.
 */
export class RequestsUntilDeadline extends NodeHttpHandler {
  readonly #deadline: CallDeadline;
  readonly #form: AnswerForm;

  constructor(deadline: CallDeadline, form: AnswerForm) {
    super({
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      httpAgent: CONNECTIONS,
      httpsAgent: CONNECTIONS,
    });
    this.#deadline = deadline;
    this.#form = form;
  }

  /** @throws OutOfTimeError before the request is made */
  override async handle(...[request, options]: Parameters<Handle>): ReturnType<Handle> {
    const timeoutMs = requestMs(this.#deadline, REQUEST_TIMEOUT_MS);
    if (timeoutMs <= 0) throw new OutOfTimeError();
    const endsAt = performance.now() + timeoutMs;
    const { response } = await super.handle(request, { ...options, requestTimeout: timeoutMs });
    if (response.body instanceof Readable) {
      const bytes = await wholeBody(response.body, endsAt - performance.now());
      response.body = this.#form === 'stream' ? Readable.from([bytes]) : bytes;
    }
    return { response };
  }
}

/** What has arrived whole. By events: an iterator, and `stream/consumers`, take several times the processor. */
function wholeBody(body: Readable, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      body.destroy(
        Object.assign(new Error('The answer did not arrive whole in time.'), { name: 'TimeoutError' }),
      );
    }, timeoutMs);
    body.on('data', (chunk: Buffer) => chunks.push(chunk));
    body.once('end', () => {
      resolve(Buffer.concat(chunks));
    });
    body.once('error', reject);
    body.once('close', () => {
      clearTimeout(timer);
      if (!body.readableEnded)
        reject(Object.assign(new Error('The answer broke off.'), { code: 'ECONNRESET' }));
    });
  });
}
