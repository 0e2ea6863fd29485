import { randomUUID } from 'node:crypto';
import { HttpRequest } from '@smithy/core/protocols';
import { isThrottlingError, isTransientError } from '@smithy/core/retry';
import { SignatureV4 } from '@smithy/signature-v4';
import { NO_DEADLINE } from '../lambda/invocation-deadline.ts';
import { AwsServiceError, resultOf } from './answer.ts';
import { RequestsUntilDeadline } from './requests.ts';
import { failureNoteFor, MAX_ATTEMPTS, RetriesUntilDeadline } from './retries.ts';
import type { ServiceId, ServiceOptions } from './service-options.ts';
import { Sha256 } from './sha256.ts';

/** A service that speaks one of the AWS JSON protocols (smithy.io). */
export type JsonService = {
  id: ServiceId;
  /** Before the operation in `x-amz-target`. */
  target: string;
  version: '1.0' | '1.1';
};

/**
 * Makes a call, repeats included, and answers with its result.
 * @throws AwsServiceError
 * @throws OutOfTimeError before a request is made
 * @throws Error `TimeoutError`, or Node's own, where no whole answer came: whether the service did what it was asked is not known
 */
export type Call = (operation: string, input: object) => Promise<unknown>;

/**
 * A client of one service, for what is called at every delivery. Signatures, requests and the rules of repeats are the SDK's
 * own parts; what is left out are the layers between, which take most of its processor time and of its loading
 * (docs/performance.md), and with them what a function has no use for: other sources of credentials, endpoints by rules,
 * a clock set by the service's, MD5 of what TLS protects.
 */
export function jsonService(service: JsonService, options: ServiceOptions): Call {
  const { deadline = NO_DEADLINE, journal, region, credentials, traceId } = options;
  const endpoint = new URL(
    typeof options.endpoint === 'string' ? options.endpoint : options.endpoint[service.id],
  );
  const requests = new RequestsUntilDeadline(deadline, 'bytes');
  const signer = new SignatureV4({
    service: service.id,
    region,
    credentials,
    sha256: Sha256,
    applyChecksum: false,
  });
  const strategy = new RetriesUntilDeadline(MAX_ATTEMPTS, deadline, failureNoteFor(journal, service.id));

  const requestOf = async ({ operation, body, id }: Asked, attempt: number): Promise<HttpRequest> => {
    const trace = traceId?.() ?? '';
    const request = new HttpRequest({
      method: 'POST',
      protocol: endpoint.protocol,
      hostname: endpoint.hostname,
      ...(endpoint.port === '' ? {} : { port: Number(endpoint.port) }),
      path: endpoint.pathname,
      headers: {
        host: endpoint.host,
        'content-type': `application/x-amz-json-${service.version}`,
        'x-amz-target': `${service.target}.${operation}`,
        'user-agent': 'posthaste',
        // As the SDK says them; a log of requests can tell repeats by these.
        'amz-sdk-invocation-id': id,
        'amz-sdk-request': `attempt=${attempt}; max=${MAX_ATTEMPTS}`,
        // What SQS and X-Ray link a message to what sent it by.
        ...(trace === '' ? {} : { 'x-amzn-trace-id': trace }),
      },
      body,
    });
    request.headers = (await signer.sign(request)).headers;
    return request;
  };

  const once = async (asked: Asked, attempt: number): Promise<unknown> =>
    resultOf((await requests.handle(await requestOf(asked, attempt))).response);

  return async (operation, input) => {
    const asked = { operation, body: JSON.stringify(input), id: randomUUID() };
    let token = await strategy.acquireInitialRetryToken('');
    for (;;) {
      try {
        const result = await once(asked, token.getRetryCount() + 1);
        strategy.recordSuccess(token);
        return result;
      } catch (error) {
        const failure = failureOf(error);
        if (failure === undefined) throw error;
        token = await strategy.refreshRetryTokenForRetry(token, failure).catch(() => {
          throw error;
        });
      }
    }
  };
}

/** `id`: of the call, the same for its repeats. */
type Asked = { operation: string; body: string; id: string };

type Failure = Parameters<RetriesUntilDeadline['refreshRetryTokenForRetry']>[1];
type SdkError = NonNullable<Failure['error']>;

function failureOf(thrown: unknown): Failure | undefined {
  if (!isError(thrown)) return undefined;
  const retryAfterMs = thrown instanceof AwsServiceError ? thrown.retryAfterMs : undefined;
  return {
    error: thrown,
    errorType: kindOf(thrown),
    ...(retryAfterMs === undefined ? {} : { retryAfterHint: new Date(Date.now() + retryAfterMs) }),
  };
}

function isError(thrown: unknown): thrown is SdkError {
  return thrown instanceof Error;
}

function kindOf(error: SdkError): Failure['errorType'] {
  if (isThrottlingError(error)) return 'THROTTLING';
  return isTransientError(error) ? 'TRANSIENT' : 'CLIENT_ERROR';
}
