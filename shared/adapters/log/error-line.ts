import * as z from 'zod';
import { sourcePositions } from './source-positions.ts';

/**
 * An error as it appears in a log line: selected fields and its origin, never the data that was being processed.
 */
export type ErrorLine = {
  name: string;
  message: string;
  /** Code from Node or the SDK, such as ECONNRESET. */
  code?: string;
  /** HTTP status of an AWS response. */
  httpStatus?: number;
  awsRequestId?: string;
  stack?: string;
  cause?: ErrorLine;
  /** The first errors of an AggregateError. */
  errors?: readonly ErrorLine[];
};

/** In characters. Longer messages usually quote data. */
const MAX_MESSAGE = 1_000;
const MAX_FRAMES = 12;
const MAX_ERRORS = 3;
const MAX_CAUSES = 4;

/**
 * The part of an error that may be logged. Other properties are left out: DynamoDB's conditional failures carry
 * the item, SDK errors the response, Node's URL errors the URL. Messages of SyntaxError are replaced, because
 * JSON.parse quotes its input.
 */
export function errorLineOf(thrown: unknown, causes = 0): ErrorLine {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return {
    name: error.name,
    message: messageOf(error),
    ...factsOf(error),
    ...framesOf(error),
    ...(error.cause === undefined || causes === MAX_CAUSES
      ? {}
      : { cause: errorLineOf(error.cause, causes + 1) }),
    ...(error instanceof AggregateError && causes < MAX_CAUSES
      ? { errors: error.errors.slice(0, MAX_ERRORS).map((one) => errorLineOf(one, causes + 1)) }
      : {}),
  };
}

function messageOf(error: Error): string {
  return error instanceof SyntaxError
    ? 'invalid syntax; the message is omitted because it may quote data'
    : error.message.slice(0, MAX_MESSAGE);
}

const known = z.object({
  code: z.string().optional().catch(undefined),
  $metadata: z
    .object({ httpStatusCode: z.number().optional(), requestId: z.string().optional() })
    .optional()
    .catch(undefined),
});

function factsOf(error: Error): Pick<ErrorLine, 'code' | 'httpStatus' | 'awsRequestId'> {
  const { code, $metadata: { httpStatusCode, requestId } = {} } = known.parse(error);
  return {
    ...(code === undefined ? {} : { code }),
    ...(httpStatusCode === undefined ? {} : { httpStatus: httpStatusCode }),
    ...(requestId === undefined ? {} : { awsRequestId: requestId }),
  };
}

/** The folder of this module. In a function it is the folder of the bundle, which contains all of its code. */
const toSourcePositions = sourcePositions(new URL('.', import.meta.url).href);

/** The `at` lines only: the lines before them repeat the message. */
function framesOf({ stack = '' }: Error): Pick<ErrorLine, 'stack'> {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? {} : { stack: toSourcePositions(frames.slice(0, MAX_FRAMES).join('\n')) };
}
