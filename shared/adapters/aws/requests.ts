import { Readable } from 'node:stream';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { MAX_CONCURRENT_ATTEMPTS } from '../../domain/delivery/fan-out.ts';
import { OutOfTimeError, requestMs, type CallDeadline } from '../lambda/invocation-deadline.ts';

/** A request that has not connected by then is retried on another connection. */
const CONNECTION_TIMEOUT_MS = 1_000;

/** These services take far less, for requests and responses of at most 1 MiB. */
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Enough connections for all calls of a full batch: waiting for one counts as connect time and ends in a timeout.
 * The SDK's default is 50. At most 50 idle connections are kept.
 */
const CONNECTIONS = { keepAlive: true, maxSockets: MAX_CONCURRENT_ATTEMPTS, maxFreeSockets: 50 };

type Handle = NodeHttpHandler['handle'];

/**
 * How the response body is passed to the client: S3's client needs a stream; the others read bytes, which is
 * cheaper.
 */
export type BodyForm = 'stream' | 'bytes';

/**
 * Requests that always end, with a complete response or with an error that the SDK retries. The SDK has no timeout
 * by default, and its timeout covers only the time until the headers. Reading the body here makes a broken body
 * retryable too.
 */
export class RequestsUntilDeadline extends NodeHttpHandler {
  readonly #deadline: CallDeadline;
  readonly #form: BodyForm;

  constructor(deadline: CallDeadline, form: BodyForm) {
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

/** The complete body. Uses events, because an iterator or `stream/consumers` takes several times the CPU. */
function wholeBody(body: Readable, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      body.destroy(
        Object.assign(new Error('The response was not complete in time.'), { name: 'TimeoutError' }),
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
        reject(
          Object.assign(new Error('The connection closed before the response was complete.'), {
            code: 'ECONNRESET',
          }),
        );
    });
  });
}
