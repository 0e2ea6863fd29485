import { Readable } from 'node:stream';
import type { KMSClientResolvedConfig } from '@aws-sdk/client-kms';
import { StandardRetryStrategy } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { MAX_CONCURRENT_ATTEMPTS } from '../../domain/delivery/fan-out.ts';
import type { Journal } from '../../ports/journal.ts';
import {
  type CallDeadline,
  hasTimeAfter,
  NO_DEADLINE,
  OutOfTimeError,
  requestMs,
} from '../lambda/invocation-deadline.ts';
import { Sha256 } from './sha256.ts';

/**
 * The invocation that a client's calls belong to: its deadline, and the journal for failed requests. Both are
 * absent outside a function.
 */
export type Invocation = { deadline?: CallDeadline | undefined; journal?: Journal | undefined };

/** Where AWS is and who calls it. @default as the SDK finds it: in the environment, in a profile, from a role */
export type AwsAccess = {
  endpoint?: string;
  region?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

/**
 * Options of a client. Callers outside AWS pass the SDK's options; in a function the SDK reads the environment.
 */
export type ClientOptions<Config> = Config & Invocation;

/**
 * The options of a client: requests time out, and requests and retries end before the invocation does. The given options
 * of the SDK take precedence.
 */
export function clientOptions<Options extends Invocation>(
  awsService: string,
  { deadline = NO_DEADLINE, journal, ...config }: Options,
) {
  return {
    sha256: Sha256,
    maxAttempts: MAX_ATTEMPTS,
    retryStrategy: new RetriesUntilDeadline(MAX_ATTEMPTS, deadline, failureNoteFor(journal, awsService)),
    requestHandler: new RequestsUntilDeadline(deadline, awsService === 's3' ? 'stream' : 'bytes'),
    ...config,
  };
}

/**
 * Names in the SDK. Recursion detection stays: it sends the trace id, by which SQS and X-Ray link a message to
 * its sender.
 */
const UNUSED_MIDDLEWARE = ['loggerMiddleware', 'getUserAgentMiddleware'];

type SdkConfig = Parameters<typeof getSchemaSerdePlugin>[0] & Pick<KMSClientResolvedConfig, 'signer'>;

type SdkClient = {
  readonly config: SdkConfig;
  readonly middlewareStack: {
    remove: (name: string) => boolean;
    use: (plugin: ReturnType<typeof getSchemaSerdePlugin>) => void;
  };
};

/**
 * The client without middleware that these calls do not need, and without work that the SDK repeats in each call: a
 * quarter of its CPU time.
 */
export function slim<Client extends SdkClient>(client: Client): Client {
  const { config, middlewareStack } = client;
  for (const name of UNUSED_MIDDLEWARE) middlewareStack.remove(name);
  // A signer keeps nothing of a request, so one is enough for all.
  const { signer } = config;
  let made: ReturnType<typeof signer> | undefined;
  config.signer = (scheme) => (made ??= signer(scheme));
  // Each call copies the configuration three times. V8 copies this flat copy at once, but an object that the constructor
  // extended by steps property by property.
  const flat = { ...config };
  middlewareStack.use(getSchemaSerdePlugin(flat));
  return Object.assign(client, { config: flat });
}

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
type BodyForm = 'stream' | 'bytes';

/**
 * Requests that always end, with a complete response or with an error that the SDK retries. The SDK has no timeout
 * by default, and its timeout covers only the time until the headers. Reading the body here makes a broken body
 * retryable too.
 */
class RequestsUntilDeadline extends NodeHttpHandler {
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

/** The first request and two retries. */
export const MAX_ATTEMPTS = 3;

type RefreshRetryToken = StandardRetryStrategy['refreshRetryTokenForRetry'];
type RetryToken = Parameters<RefreshRetryToken>[0];
type RetryErrorInfo = Parameters<RefreshRetryToken>[1];

/**
 * The SDK's retry rules (throttling, 500, 502 to 504, timeouts, broken connections), limited by the deadline: no
 * retry starts that could not end before it. The caller then gets the error of the last request.
 */
export class RetriesUntilDeadline extends StandardRetryStrategy {
  readonly #deadline: CallDeadline;
  readonly #note: FailureNote;

  constructor(most: number, deadline: CallDeadline, note: FailureNote) {
    super({ maxAttempts: most, backoff: backoffUntil(deadline) });
    this.#deadline = deadline;
    this.#note = note;
  }

  /** The SDK calls this after every failed request and treats any exception as "do not retry". */
  override async refreshRetryTokenForRetry(token: RetryToken, given: RetryErrorInfo): Promise<RetryToken> {
    const failed = withConflictsTransient(given);
    try {
      const next = await this.#tokenFor(token, failed);
      this.#note(failed, true);
      return next;
    } catch (refusal) {
      this.#note(failed, false);
      throw refusal;
    }
  }

  async #tokenFor(token: RetryToken, failed: RetryErrorInfo): Promise<RetryToken> {
    const waitMs = (failed.retryAfterHint?.getTime() ?? 0) - Date.now();
    if (!hasTimeAfter(Math.max(0, waitMs), this.#deadline)) throw new OutOfTimeError();
    return super.refreshRetryTokenForRetry(token, failed);
  }
}

type FailureNote = (failed: RetryErrorInfo, repeated: boolean) => void;

/** Journals failures that are worth a retry. A response that rejects the request's content is not one. */
function failureNoteFor(journal: Journal | undefined, awsService: string): FailureNote {
  return ({ errorType, error }, repeated) => {
    const throttled = errorType === 'THROTTLING';
    if (!throttled && errorType !== 'TRANSIENT') return;
    const reason = error instanceof Error ? error.name : errorType;
    journal?.note({ fact: 'aws_call_failed', awsService, reason, throttled, repeated });
  };
}

/** Full jitter: uniform up to a bound that doubles with each retry. Milliseconds. */
function backoffUntil(deadline: CallDeadline) {
  let base = 0;
  return {
    setDelayBase: (delay: number) => {
      base = delay;
    },
    computeNextBackoffDelay: (repeated: number) => {
      const delay = Math.floor(Math.random() * base * 2 ** repeated);
      if (!hasTimeAfter(delay, deadline)) throw new OutOfTimeError();
      return delay;
    },
  };
}

const CONFLICTS: ReadonlySet<string> = new Set([
  'TransactionConflictException',
  'ReplicatedWriteConflictException',
]);

/**
 * A write that meets a transaction on the same item is refused and can be retried ("Transaction conflict handling
 * in DynamoDB", DynamoDB developer guide). The SDK classifies it as an error of the caller.
 */
function withConflictsTransient(failed: RetryErrorInfo): RetryErrorInfo {
  return CONFLICTS.has(failed.error?.name ?? '') ? { ...failed, errorType: 'TRANSIENT' } : failed;
}
