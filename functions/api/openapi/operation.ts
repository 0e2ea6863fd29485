import type * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { commonAnswers, type Refusal } from './answers.ts';

export type Operation = {
  /** Its name in a client that is generated from the document. */
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  body?: Body;
  /** Beside those that it refuses a request with. */
  answers: Readonly<Record<string, ZodOpenApiResponseObject>>;
  refuses: readonly Refusal[];
  /** Anybody may ask. */
  open?: boolean;
};

export type Tag = 'service' | 'queues' | 'subscriptions' | 'messages' | 'deliveries' | 'recoveries';

/** By method and path, as in `GET /v2/queues/{queue}`. */
export type Operations = Readonly<Record<`${string} /${string}`, Operation>>;

type Body = { schema: z.ZodType; mediaTypes: readonly string[]; required: boolean };

export function jsonBody(schema: z.ZodType): Body {
  return {
    schema,
    mediaTypes: ['application/json'],
    required: true,
  };
}

/** None at all is as good as an empty object. */
export function optionalJsonBody(schema: z.ZodType): Body {
  return { ...jsonBody(schema), required: false };
}

export function operationObject({
  id,
  tag,
  summary,
  description,
  path,
  query,
  body,
  answers,
  refuses,
  open = false,
}: Operation): ZodOpenApiOperationObject {
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    requestParams: { ...(path && { path }), ...(query && { query }) },
    ...(body && { requestBody: requestBody(body) }),
    responses: { ...commonAnswers(refuses, open), ...answers },
    ...(open && { security: [] }),
  };
}

function requestBody({ schema, mediaTypes, required }: Body) {
  return {
    required,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }])),
  };
}
