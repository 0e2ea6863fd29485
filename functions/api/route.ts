import * as z from 'zod';
import type { ZodOpenApiRequestBodyObject, ZodOpenApiResponseObject } from 'zod-openapi';
import type { Caller } from './audit.ts';
import type { Claims, Permission } from './permission.ts';

/** Such as `GET /v2/queues/{queue}`; the parameters are those of paths.ts. */
export type RouteKey = `${'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;

/** A route as the OpenAPI document describes it, and its handler. Its schemas also parse what the handler reads. */
export type Route<
  Key extends RouteKey = RouteKey,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> = {
  key: Key;
  /** The operation's name in generated clients. */
  id: string;
  summary: string;
  description?: string;
  query?: Query;
  body?: JsonBody<Body> | ZodOpenApiRequestBodyObject;
  /** By status. The responses for `refuses` are added. */
  answers: Readonly<Record<string, ZodOpenApiResponseObject>>;
  /** @default 400 and 404; 409 unless it only reads; 413 with a body */
  refuses?: readonly Refusal[];
  /** What the token must allow. @default `read` for a GET, else `manage` */
  permission?: Permission;
  /** Callers need no authorisation, or the token of a pull subscription, which the route checks. @default false */
  open?: boolean | 'pull_token';
  /** Undefined where another function serves the route. */
  handle: Handle<Key, z.output<Query>, z.output<Body>> | undefined;
};

/** The groups of routes in the document. */
export const TAGS = {
  service: 'Version, health and description of the service.',
  queues:
    'Named channels. Producers publish to a queue; its subscribers receive the messages. Not an SQS queue.',
  subscriptions: 'The URLs that receive the messages of a queue, with headers, filter and retry policy.',
  pull: 'Receiving without being called: for subscribers behind firewalls.',
  messages: 'What producers publish to a queue.',
  deliveries: 'The delivery of one message to one subscription, with its attempts.',
  recoveries: 'Bulk replays of failed deliveries.',
  'event types': 'The catalogue: what producers may publish, for subscribers to choose from.',
  portal: 'Links to the page of a customer, who manages the endpoints of one queue.',
};

export type Tag = keyof typeof TAGS;

/** The statuses with which a route can refuse a request. */
export type Refusal = 400 | 404 | 409 | 413;

/** A request to the API. Its path and query are decoded. */
export type ApiRequest = {
  method: string;
  path: string;
  /** The first value of each name. */
  query: Readonly<Record<string, string>>;
  headers: { authorization?: string; traceparent?: string; tracestate?: string };
  body: Uint8Array;
  caller: Caller;
  claims?: Claims;
  /** Where API Gateway authorised the caller by IAM. */
  callerArn?: string;
  /** The API's. */
  publicUrl: string;
  /** Set by the gate of the portal. */
  tenant?: Tenant;
};

/**
 * The bounds of a session of the portal that a route applies itself, together with what it reads and writes. `eventTypes`:
 * @default all
 */
export type Tenant = { queueCreatedAt: number; endpoints: number; eventTypes?: readonly string[] };

/** A request to a route. Its query and body are parsed where they are read. */
export type RequestContext<Key extends string, Query = unknown, Body = unknown> = Omit<
  ApiRequest,
  'query' | 'body'
> & {
  /** Of the path. `queue`: the name of a queue, unless the route is open. */
  params: Record<ParameterName<Key>, string>;
  /** By the schema of the route. @throws RefusedRequest */
  readonly query: Query;
  /** The same, as JSON. @throws RefusedRequest */
  readonly body: Body;
  /** For what a schema of the route cannot parse. */
  raw: Pick<ApiRequest, 'query' | 'body'>;
};

/** Of `GET /v2/queues/{queue}` it is `queue`. */
type ParameterName<Key extends string> = Key extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterName<Rest>
  : never;

export type Handle<Key extends string, Query = unknown, Body = unknown> = (
  context: RequestContext<Key, Query, Body>,
) => Answer | Promise<Answer>;

/** The only way to add a route, so every route has a description. */
export type AddRoute = <Key extends RouteKey, Query extends z.ZodObject, Body extends z.ZodType>(
  route: Route<Key, Query, Body>,
) => void;

/** Adds routes under a tag. */
export type Group = (tag: Tag) => AddRoute;

/** `status`: @default 200 */
export type Answer = { status?: number; headers?: Record<string, string>; body?: string };

export function jsonAnswer(value: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** `required`: a body that is absent otherwise counts as `{}`. */
export type JsonBody<Schema extends z.ZodType> = {
  required: boolean;
  content: { 'application/json': { schema: Schema } };
};

export function jsonBody<Schema extends z.ZodType>(schema: Schema): JsonBody<Schema> {
  return { required: true, content: { 'application/json': { schema } } };
}

export function optionalJsonBody<Schema extends z.ZodType>(schema: Schema): JsonBody<Schema> {
  return { ...jsonBody(schema), required: false };
}

export function json(description: string, schema: z.ZodType): ZodOpenApiResponseObject {
  return { description, content: { 'application/json': { schema } } };
}

export function noBody(description: string): ZodOpenApiResponseObject {
  return { description };
}

/** A response with a `location` header: the URL of the resource. */
export function withLocation(answer: ZodOpenApiResponseObject): ZodOpenApiResponseObject {
  return { ...answer, headers: z.object({ location: z.string() }) };
}

/** A response whose values are parameters of further operations (OpenAPI links). */
export function withLinks(
  operationIds: readonly string[],
  parameters: Readonly<Record<string, string>>,
  answer: ZodOpenApiResponseObject,
): ZodOpenApiResponseObject {
  return {
    ...answer,
    links: Object.fromEntries(
      operationIds.map((operationId) => [
        operationId,
        { operationId, parameters: { queue: '$request.path.queue', ...parameters } },
      ]),
    ),
  };
}
