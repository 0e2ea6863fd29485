import * as z from 'zod';
import { createDocument, type CreateDocumentOptions, type ZodOpenApiPathItemObject } from 'zod-openapi';
import { retryPolicySchema } from '../../../shared/domain/retry/policy-schema.ts';
import { deliveryDetailSchema } from '../../../shared/wire/views/delivery-detail.ts';
import { deliverySummarySchema } from '../../../shared/wire/views/delivery-summary.ts';
import { attemptView, deliveryViewSchema, policyView } from '../../../shared/wire/views/delivery.ts';
import { messageSummarySchema, messageViewSchema } from '../../../shared/wire/views/message.ts';
import { recoveryViewSchema } from '../../../shared/wire/views/recovery.ts';
import { subscriptionViewSchema } from '../../../shared/wire/views/subscription.ts';
import { errorSchema } from '../errors.ts';
import { linksSchema } from '../paging.ts';
import { gatewayErrorSchema } from './answers.ts';
import { messageOperations } from '../messages/openapi.ts';
import { operationObject, type Operations, type Tag } from './operation.ts';
import { queueOperations } from '../queues/openapi.ts';
import { recoveryOperations } from '../recoveries/openapi.ts';
import { serviceOperations } from '../service/openapi.ts';
import { subscriptionOperations } from '../subscriptions/openapi.ts';
import { contentFilterSchema, describedOptions } from '../subscriptions/openapi-schemas.ts';

const operations: Operations = {
  ...serviceOperations,
  ...queueOperations,
  ...subscriptionOperations,
  ...messageOperations,
  ...recoveryOperations,
};

const TAGS = {
  service: 'The service itself.',
  queues: 'Named channels.',
  subscriptions: 'Who is called for the messages of a queue, and how.',
  messages: 'What producers publish.',
  deliveries: 'One message on its way to one subscription.',
  recoveries: 'Replays of what has failed.',
} satisfies Record<Tag, string>;

/** What the document says in many places stands in it once, under these names. */
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
  PolicyInForce: policyView,
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

/** The description of the API in OpenAPI 3.1, made of the schemas that its routes read and answer by. */
export function openApiDocument(api: { version: string; url: string }) {
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
      paths: pathsOf(operations),
      components: { securitySchemes },
    },
    { override: withoutTheObvious },
  );
}

/** Patterns of times, and the bound that every integer has in JavaScript, fill half a document and tell nobody anything. */
const withoutTheObvious: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema }) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

function pathsOf(all: Operations): Record<string, ZodOpenApiPathItemObject> {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  for (const [name, operation] of Object.entries(all)) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(operation) };
  }
  return paths;
}
