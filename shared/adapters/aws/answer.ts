import * as z from 'zod';

/** A whole answer; its body is bytes or text. */
export type AwsAnswer = {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

/** What a service answered in place of a result; its `name` is the service's code for it, such as ThrottlingException. */
export class AwsServiceError extends Error {
  override readonly name: string;
  declare readonly cause?: Error;
  readonly $metadata: { httpStatusCode: number; requestId?: string };
  /** Milliseconds, where the service says how long to wait. */
  readonly retryAfterMs: number | undefined;
  readonly #answer: unknown;

  constructor(given: {
    name: string;
    message: string;
    status: number;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
    answer?: unknown;
  }) {
    super(given.message);
    this.name = given.name;
    const { status: httpStatusCode, requestId } = given;
    this.$metadata = requestId === undefined ? { httpStatusCode } : { httpStatusCode, requestId };
    this.retryAfterMs = given.retryAfterMs;
    this.#answer = given.answer;
  }

  /** The whole answer: an item that refused, what cancelled a transaction. No property, so that nothing that prints errors has it. */
  answer(): unknown {
    return this.#answer;
  }
}

/** Whether a service refused with this code. */
export function isRefusal(error: unknown, name: string): error is AwsServiceError {
  return error instanceof AwsServiceError && error.name === name;
}

/** A part of an answer that may be missing or null, which mean the same (AWS JSON 1.0 protocol, smithy.io). */
export function absent<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

const OK = 200;

/** The result of a call. @throws AwsServiceError */
export function resultOf(answer: AwsAnswer): unknown {
  const body = jsonOf(answer.body);
  if (answer.statusCode === OK && body.readable) return body.value;
  throw errorOf(answer, body.readable ? body.value : undefined);
}

/** What is no JSON does not come from the service, but from something before it. */
function jsonOf(body: unknown): { readable: true; value: unknown } | { readable: false } {
  const text = textOf(body);
  if (text === '') return { readable: true, value: {} };
  try {
    return { readable: true, value: JSON.parse(text) };
  } catch {
    return { readable: false };
  }
}

/** Without copying the bytes: every answer of AWS comes by here. */
function textOf(body: unknown): string {
  if (body instanceof Uint8Array)
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return typeof body === 'string' ? body : '';
}

const errorSchema = z.object({
  __type: z.string().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
  Message: z.string().optional().catch(undefined),
});

function errorOf({ statusCode: status, headers }: AwsAnswer, body: unknown): AwsServiceError {
  const known = errorSchema.safeParse(body).data ?? {};
  const header = (name: string): string | undefined => headers[name];
  const type = header('x-amzn-errortype') ?? known.__type ?? known.code;
  return new AwsServiceError({
    name: type === undefined ? 'UnreadableAnswer' : codeIn(type),
    message: known.message ?? known.Message ?? `The service answered with status ${status}.`,
    status,
    requestId: header('x-amzn-requestid'),
    retryAfterMs: retryAfterMsOf(header),
    answer: body,
  });
}

/** Without namespace and URI ("Operation error serialization" of the AWS JSON 1.0 protocol, smithy.io). */
function codeIn(type: string): string {
  const [beforeUri = ''] = type.split(':');
  return beforeUri.slice(beforeUri.indexOf('#') + 1);
}

/** `x-amz-retry-after` is in milliseconds, `retry-after` in seconds (RFC 9110 §10.2.3); its dates are not sent by these services. */
function retryAfterMsOf(header: (name: string) => string | undefined): number | undefined {
  const milliseconds = Number(header('x-amz-retry-after') ?? Number.NaN);
  const seconds = Number(header('retry-after') ?? Number.NaN);
  return [milliseconds, seconds * 1000].find((hint) => Number.isFinite(hint) && hint >= 0);
}
