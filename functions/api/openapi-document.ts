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
import {
  deliveryDetailSchema,
  deliverySummarySchema,
  attemptView,
  deliveryViewSchema,
  nextAttemptView,
} from '../../shared/wire/views/delivery.ts';
import { eventTypeViewSchema } from '../../shared/wire/views/event-type.ts';
import { explainedSchema } from '../../shared/wire/views/explanation.ts';
import { messageSummarySchema, messageViewSchema } from '../../shared/wire/views/message.ts';
import { recoveryViewSchema } from '../../shared/wire/views/recovery.ts';
import {
  changedSubscriptionSchema,
  pausedViewSchema,
  shownOptions,
  stoppedSubscriptionSchema,
  subscriptionViewSchema,
} from '../../shared/wire/views/subscription.ts';
import { errorSchema, gatewayErrorSchema } from './errors.ts';
import { linksSchema } from './paging.ts';
import { pathParameters } from './paths.ts';
import { queuePatchSchema, shownMetadata } from './queues/metadata.ts';
import { type Refusal, type Route, TAGS } from './route.ts';
import type { ServedRoute } from './serve.ts';
import { contentFilterSchema, describedOptions } from './subscriptions/options.ts';

/** Schemas that the document defines once under these names, and references elsewhere. */
const NAMED = {
  Attempt: attemptView,
  ChangedSubscription: changedSubscriptionSchema,
  ContentFilter: contentFilterSchema,
  Delivery: deliveryViewSchema,
  DeliveryDetail: deliveryDetailSchema,
  DeliverySummary: deliverySummarySchema,
  Error: errorSchema,
  EventType: eventTypeViewSchema,
  Explanation: explainedSchema,
  GatewayError: gatewayErrorSchema,
  Links: linksSchema,
  Message: messageViewSchema,
  MessageSummary: messageSummarySchema,
  MetadataPatch: queuePatchSchema,
  NextAttempt: nextAttemptView,
  Pause: pausedViewSchema,
  PolicyInForce: completePolicySchema,
  QueueMetadata: shownMetadata,
  Recovery: recoveryViewSchema,
  RetryPolicy: retryPolicySchema,
  ShownOptions: shownOptions,
  StoppedSubscription: stoppedSubscriptionSchema,
  Subscription: subscriptionViewSchema,
  SubscriptionOptions: describedOptions,
};

for (const [id, schema] of Object.entries(NAMED)) z.globalRegistry.add(schema, { ...schema.meta(), id });

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'authorization',
    description:
      'AWS Signature Version 4 for the service `execute-api`. Used where the setting `apiAuthorization` is `iam`.',
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A JSON Web Token. Used where the setting `apiAuthorization` is `jwt`.',
  },
  pullToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of one pull subscription, `phpull_…`. Used by the routes under `/v2/pull`.',
  },
} as const;

/** The OpenAPI 3.1 document of these routes, derived from their request and response schemas. */
export function openApiDocument(api: { routes: readonly ServedRoute[]; version: string; url: string }) {
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Posthaste',
        version: api.version,
        summary: 'The administration API',
        description:
          'Delivers webhooks out of an AWS account. Request bodies are JSON in UTF-8, at most 1 MiB; the content type is ' +
          'ignored. Every GET route also serves HEAD. The setting `apiAuthorization` of the deployment selects the ' +
          'authorisation: AWS signatures, tokens, or none.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: api.url }],
      security: [{ signature: [] }, { token: [] }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: buildPaths(api.routes),
      components: { securitySchemes },
    },
    { override: omitNoise },
  );
}

/** Drops patterns of times and the bound of JavaScript integers: half of the document, and no use to a reader. */
const omitNoise: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema }) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

function buildPaths(routes: readonly ServedRoute[]): Record<string, ZodOpenApiPathItemObject> {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: buildOperation(route) };
  }
  return paths;
}

function buildOperation(route: ServedRoute): ZodOpenApiOperationObject {
  const { id, tag, summary, description, path, query, body, answers, open = false } = route;
  const parameters = pathParameters(path);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    requestParams: { ...(parameters && { path: parameters }), ...(query && { query }) },
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(listRefusals(route).map((status) => [status, REFUSALS[status]])),
      ...(open === 'pull_token' ? { 401: NO_PULL_TOKEN } : open ? {} : UNAUTHORIZED),
      ...FAULTS,
      ...answers,
    },
    ...buildSecurity(open),
  };
}

function listRefusals({ method, body, refuses }: ServedRoute): readonly Refusal[] {
  if (refuses !== undefined) return refuses;
  if (method === 'GET') return [400, 404];
  return body === undefined ? [400, 404, 409] : [400, 404, 409, 413];
}

/** The security of a route that differs from that of the document. */
function buildSecurity(open: NonNullable<Route['open']>): Pick<ZodOpenApiOperationObject, 'security'> {
  if (open === 'pull_token') return { security: [{ pullToken: [] }] };
  return open ? { security: [] } : {};
}

/** A response that the document defines once, under its id. */
function shared(id: string, description: string, schema: z.ZodType): ZodOpenApiResponseObject {
  return { id, description, content: { 'application/json': { schema } } };
}

const REFUSALS: Record<Refusal, ZodOpenApiResponseObject> = {
  400: shared(
    'InvalidRequest',
    'A field is missing, unknown, of the wrong type or out of range. The response names it.',
    errorSchema,
  ),
  404: shared(
    'NotFound',
    'The queue, subscription, message, delivery, recovery, event type or path does not exist.',
    errorSchema,
  ),
  409: shared(
    'Conflict',
    'The current state does not allow this request. The message gives the reason.',
    errorSchema,
  ),
  413: shared('TooLarge', 'The request, or the record that it would create, is too large.', errorSchema),
};

const UNAUTHORIZED = {
  401: shared('Unauthorized', 'The token is missing or invalid. Sent by API Gateway.', gatewayErrorSchema),
  403: shared(
    'Forbidden',
    'The AWS signature is missing or invalid, or IAM denies the call (sent by API Gateway); or the token lacks the scope or the queue.',
    z.union([errorSchema, gatewayErrorSchema]),
  ),
};

const NO_PULL_TOKEN = shared(
  'NoPullToken',
  "The token is missing, has expired or is another subscription's.",
  errorSchema,
);

/** Errors that any route can return. */
const FAULTS: Record<string, ZodOpenApiResponseObject> = {
  431: {
    id: 'TooLong',
    description: 'Path, query and headers together are too long. Sent by API Gateway.',
  },
  429: shared('TooManyRequests', 'Too many requests. Sent by API Gateway.', gatewayErrorSchema),
  500: shared(
    'InternalError',
    'Internal error. The message contains the request id, by which the log entry can be found.',
    z.union([errorSchema, gatewayErrorSchema]),
  ),
  503: shared(
    'Unavailable',
    'The API function is overloaded or unavailable. Sent by API Gateway.',
    gatewayErrorSchema,
  ),
};
