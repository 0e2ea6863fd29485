import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { errorSchema } from '../errors.ts';

/** What API Gateway itself answers, before or in place of the function. */
export const gatewayErrorSchema = z.object({ message: z.string() });

export function json(description: string, schema: z.ZodType): ZodOpenApiResponseObject {
  return {
    description,
    content: { 'application/json': { schema } },
  };
}

export function nothing(description: string): ZodOpenApiResponseObject {
  return { description };
}

/** With the address of what was made or asked for. */
export function located(response: ZodOpenApiResponseObject): ZodOpenApiResponseObject {
  return {
    ...response,
    headers: z.object({ location: z.string() }),
  };
}

/** With which parameters the answer leads on to these operations. */
export function leadingTo(
  operationIds: readonly string[],
  parameters: Readonly<Record<string, string>>,
  response: ZodOpenApiResponseObject,
): ZodOpenApiResponseObject {
  return {
    ...response,
    links: Object.fromEntries(
      operationIds.map((operationId) => [
        operationId,
        { operationId, parameters: { queue: '$request.path.queue', ...parameters } },
      ]),
    ),
  };
}

/** One that many routes have: the document has it once, under its name. */
function named(id: string, description: string, schema: z.ZodType): ZodOpenApiResponseObject {
  return {
    id,
    ...json(description, schema),
  };
}

/** Why a request was refused: the answers that many routes have in common, by their status. */
const refusals = {
  400: named(
    'InvalidRequest',
    'A field is missing, unknown, of the wrong type or out of range; it is named.',
    errorSchema,
  ),
  404: named('NotFound', 'There is no such thing.', errorSchema),
  409: named('Conflict', 'It cannot be done as things stand; the message says why.', errorSchema),
  413: named('TooLarge', 'More than a request or a record may hold.', errorSchema),
} as const;

export type Refusal = keyof typeof refusals;

const eitherError = z.union([errorSchema, gatewayErrorSchema]);

const tooLong: ZodOpenApiResponseObject = {
  id: 'TooLong',
  ...nothing('The path, the query and the headers are too long together; from API Gateway.'),
};

/** Answers that have nothing to do with what was asked. */
const faults = {
  431: tooLong,
  429: named('TooManyRequests', 'Too many requests; from API Gateway.', gatewayErrorSchema),
  500: named('InternalError', 'Our fault; the message holds the id of the request.', eitherError),
  503: named('Unavailable', 'Too busy, or out of order; from API Gateway.', gatewayErrorSchema),
};

const unauthorized = {
  401: named('Unauthorized', 'No valid token; from API Gateway.', gatewayErrorSchema),
  403: named('Forbidden', 'No valid signature, or no permission; from API Gateway.', gatewayErrorSchema),
};

/** The answers of a route that it shares with others. */
export function commonAnswers(
  refused: readonly Refusal[],
  isOpen: boolean,
): Record<string, ZodOpenApiResponseObject> {
  return {
    ...Object.fromEntries(refused.map((status) => [status, refusals[status]])),
    ...(isOpen ? {} : unauthorized),
    ...faults,
  };
}
