import * as z from 'zod';
import { completePolicySchema } from '../../shared/domain/retry/policy.ts';
import {
  createDocument,
  type CreateDocumentOptions,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { retryPolicySchema } from '../../shared/domain/retry/policy-schema.ts';
import { deliveryDetailSchema } from '../../shared/wire/views/delivery-detail.ts';
import { deliverySummarySchema } from '../../shared/wire/views/delivery-summary.ts';
import { attemptView, deliveryViewSchema } from '../../shared/wire/views/delivery.ts';
import { messageSummarySchema, messageViewSchema } from '../../shared/wire/views/message.ts';
import { recoveryViewSchema } from '../../shared/wire/views/recovery.ts';
import { subscriptionViewSchema } from '../../shared/wire/views/subscription.ts';
import { errorSchema, gatewayErrorSchema } from './errors.ts';
import { linksSchema } from './paging.ts';
import { pathParameters, templateOf } from './paths.ts';
import type { Refusal, Route, Tag } from './route.ts';
import { contentFilterSchema, describedOptions } from './subscriptions/options.ts';

const TAGS = {
  service: 'The service itself.',
  queues: 'Named channels.',
  subscriptions: 'Who is called for the messages of a queue, and how.',
  messages: 'What producers publish.',
  deliveries: 'One message on its way to one subscription.',
  recoveries: 'Replays of what has failed.',
} satisfies Record<Tag, string>;

/** Schemas that the document defines once, under these names, and refers to. */
const NAMED = {
  Attempt: attemptView,
  ContentFilter: contentFilterSchema,
  Delivery: deliveryViewSchema,
  DeliveryDetail: deliveryDetailSchema,
  DeliverySummary: deliverySummarySchema,
  Error: errorSchema,
  GatewayError: gatewayErrorSchema,
  Links: linksSchema,
  Message: messageViewSchema,
  MessageSummary: messageSummarySchema,
  PolicyInForce: completePolicySchema,
  Recovery: recoveryViewSchema,
  RetryPolicy: retryPolicySchema,
  Subscription: subscriptionViewSchema,
  SubscriptionOptions: describedOptions,
};

for (const [id, schema] of Object.entries(NAMED)) z.globalRegistry.add(schema, { ...schema.meta(), id });

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'authorization',
    description: 'AWS Signature Version 4 for the service execute-api (apiAuthorization iam).',
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  token: { type: 'http', scheme: 'bearer', description: 'A JSON Web Token (apiAuthorization jwt).' },
} as const;

/** The OpenAPI 3.1 document of these routes, from the schemas that they read and answer by. */
export function openApiDocument(api: { routes: readonly Route[]; version: string; url: string }) {
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Posthaste',
        version: api.version,
        summary: 'The administration API',
        description:
          'Webhooks out of an AWS account. HEAD is served wherever GET is. Bodies are JSON in UTF-8, at most 1 MiB, whatever the content type says. Which of the two ways of authorisation is asked for, or none, is a setting of the deployment.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: api.url }],
      security: [{ signature: [] }, { token: [] }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: pathsOf(api.routes),
      components: { securitySchemes },
    },
    { override: withoutTheObvious },
  );
}

/** Patterns of times, and the bound of every integer in JavaScript, make up half of a document and inform no reader. */
const withoutTheObvious: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema }) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

function pathsOf(routes: readonly Route[]): Record<string, ZodOpenApiPathItemObject> {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  for (const route of routes) {
    const template = templateOf(route.path);
    paths[template] = { ...paths[template], [route.method.toLowerCase()]: operationOf(route) };
  }
  return paths;
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { id, tag, summary, description, path, query, body, answers, refuses, open = false } = route;
  const parameters = pathParameters(path);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    requestParams: { ...(parameters && { path: parameters }), ...(query && { query }) },
    ...(body && { requestBody: requestBodyOf(body) }),
    responses: { ...commonAnswers(refuses, open), ...answers },
    ...(open && { security: [] }),
  };
}

function requestBodyOf({ schema, mediaTypes, required }: NonNullable<Route['body']>) {
  return {
    required,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }])),
  };
}

/** The answers that a route shares with others. */
function commonAnswers(
  refused: readonly Refusal[],
  isOpen: boolean,
): Record<string, ZodOpenApiResponseObject> {
  return {
    ...Object.fromEntries(refused.map((status) => [status, REFUSALS[status]])),
    ...(isOpen ? {} : UNAUTHORIZED),
    ...FAULTS,
  };
}

/** An answer that the document defines once, under its id. */
function shared(id: string, description: string, schema: z.ZodType): ZodOpenApiResponseObject {
  return { id, description, content: { 'application/json': { schema } } };
}

const REFUSALS: Record<Refusal, ZodOpenApiResponseObject> = {
  400: shared(
    'InvalidRequest',
    'A field is missing, unknown, of the wrong type or out of range; it is named.',
    errorSchema,
  ),
  404: shared('NotFound', 'There is no such thing.', errorSchema),
  409: shared('Conflict', 'It cannot be done as things stand; the message says why.', errorSchema),
  413: shared('TooLarge', 'More than a request or a record may hold.', errorSchema),
};

const UNAUTHORIZED = {
  401: shared('Unauthorized', 'No valid token; from API Gateway.', gatewayErrorSchema),
  403: shared(
    'Forbidden',
    'No valid signature, or no permission, from API Gateway; or a token without the scope or the queue that it takes.',
    z.union([errorSchema, gatewayErrorSchema]),
  ),
};

/** Answers that do not depend on the request. */
const FAULTS: Record<string, ZodOpenApiResponseObject> = {
  431: {
    id: 'TooLong',
    description: 'The path, the query and the headers are too long together; from API Gateway.',
  },
  429: shared('TooManyRequests', 'Too many requests; from API Gateway.', gatewayErrorSchema),
  500: shared(
    'InternalError',
    'Our fault; the message holds the id of the request.',
    z.union([errorSchema, gatewayErrorSchema]),
  ),
  503: shared('Unavailable', 'Too busy, or out of order; from API Gateway.', gatewayErrorSchema),
};
