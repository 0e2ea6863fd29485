import * as z from 'zod';
import { sourcePositions } from './source-positions.ts';

/** An error as a log line has it: named facts and where it came from, nothing of what was being worked on. */
export type ErrorLine = {
  name: string;
  message: string;
  /** Node's or the SDK's word for it, such as ECONNRESET. */
  code?: string;
  /** Of an answer of AWS. */
  httpStatus?: number;
  awsRequestId?: string;
  stack?: string;
  cause?: ErrorLine;
  /** The first of those that an AggregateError holds. */
  errors?: readonly ErrorLine[];
};

/** In characters; what is longer quotes something as a rule. */
const MOST_MESSAGE = 1_000;
const MOST_FRAMES = 12;
const MOST_ERRORS = 3;
const MOST_CAUSES = 4;

/**
 * What of an error may be logged. Its other properties stay out: DynamoDB's refusals bring the item that refused, the SDK's
 * the response, Node's the URL that it could not read. The message of JSON.parse quotes what it could not read, so that
 * stays out as well.
 */
export function errorLineOf(thrown: unknown, causes = 0): ErrorLine {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return {
    name: error.name,
    message: messageOf(error),
    ...factsOf(error),
    ...framesOf(error),
    ...(error.cause === undefined || causes === MOST_CAUSES
      ? {}
      : { cause: errorLineOf(error.cause, causes + 1) }),
    ...(error instanceof AggregateError && causes < MOST_CAUSES
      ? { errors: error.errors.slice(0, MOST_ERRORS).map((one) => errorLineOf(one, causes + 1)) }
      : {}),
  };
}

function messageOf(error: Error): string {
  return error instanceof SyntaxError ? 'a text could not be read' : error.message.slice(0, MOST_MESSAGE);
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

/** In a function this is a file of its bundle, as all of its code is. */
const inSources = sourcePositions(new URL('.', import.meta.url).href);

/** Without the lines before them, which repeat the message. */
function framesOf({ stack = '' }: Error): Pick<ErrorLine, 'stack'> {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? {} : { stack: inSources(frames.slice(0, MOST_FRAMES).join('\n')) };
}
