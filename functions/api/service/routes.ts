import * as z from 'zod';
import type { ApiDependencies } from '../dependencies.ts';
import { gatewayErrorSchema } from '../errors.ts';
import { templateOf } from '../paths.ts';
import { type AddRoute, json, noBody, type Route } from '../route.ts';
import { readHealth } from './health.ts';

const check = z.enum(['ok', 'failing']);

/** `queues` and `delayed`: approximate numbers of messages that wait, and that are set for later. `overdue`: retries, counted up to 1,000. Each is absent where it could not be read. */
export const healthSchema = z.object({
  status: check,
  checks: z.object({ subscriptionsTable: check, deliveriesTable: check, queues: check }),
  queues: z.record(z.string(), z.int()).exactOptional(),
  delayed: z.record(z.string(), z.int()).exactOptional(),
  overdue: z.int().exactOptional(),
});

/** All resources, after the JSON home of Zaqar: a template for each path, and its methods. */
export const homeSchema = z.object({
  resources: z.record(
    z.string(),
    z.object({ 'href-template': z.string(), hints: z.object({ allow: z.array(z.string()) }) }),
  ),
});

/** The versions of the API, in Zaqar's form. */
const versionsSchema = z.object({
  versions: z.array(
    z.object({
      id: z.string(),
      status: z.literal('CURRENT'),
      links: z.array(z.object({ href: z.string(), rel: z.literal('self') })),
    }),
  ),
});

/**
 * The routes about the service itself.
 * @param routes all routes of the API, complete once the first request comes
 */
export function addServiceRoutes(
  addRoute: AddRoute,
  dependencies: ApiDependencies,
  routes: readonly Route[],
): void {
  let described: { url: string; text: string } | undefined;

  addRoute(
    {
      method: 'GET',
      path: '/v2/openapi.json',
      id: 'describe',
      tag: 'service',
      summary: 'This document',
      answers: { 200: json('OpenAPI 3.1.', z.looseObject({ openapi: z.string() })) },
      refuses: [],
    },
    async (context) => {
      const url = context.env.publicUrl;
      if (described?.url !== url) {
        // Loaded by the first request for it, so that no other cold start waits for it.
        const { openApiDocument } = await import('../openapi-document.ts');
        const document = openApiDocument({ routes, version: dependencies.settings.version, url });
        described = { url, text: JSON.stringify(document) };
      }
      return context.body(described.text, 200, { 'content-type': 'application/json' });
    },
  );

  addRoute(
    {
      method: 'GET',
      path: '/',
      id: 'listVersions',
      tag: 'service',
      summary: 'The versions of the API',
      answers: { 300: json('There is one.', versionsSchema) },
      refuses: [],
    },
    (context) => {
      const answer: z.input<typeof versionsSchema> = {
        versions: [{ id: '2', status: 'CURRENT', links: [{ href: '/v2', rel: 'self' }] }],
      };
      return context.json(answer, 300);
    },
  );

  addRoute(
    {
      method: 'GET',
      path: '/v2/ping',
      id: 'ping',
      tag: 'service',
      summary: 'Whether anybody answers',
      answers: { 204: noBody('Yes.') },
      refuses: [],
      open: true,
    },
    (context) => context.body(null, 204),
  );

  addRoute(
    {
      method: 'GET',
      path: '/v2/health',
      id: 'health',
      tag: 'service',
      summary: 'Whether the tables and SQS queues can be reached, and what lies in the queues',
      answers: {
        200: json('All is well.', healthSchema),
        503: json('Something cannot be reached.', z.union([healthSchema, gatewayErrorSchema])),
      },
      refuses: [],
    },
    async (context) => {
      const { faults, checks, ...counts } = await readHealth(dependencies);
      for (const fault of faults) dependencies.reportFault(fault, context.env.caller);
      const status = faults.length === 0 ? 'ok' : 'failing';
      const answer: z.input<typeof healthSchema> = { status, checks, ...counts };
      return context.json(answer, status === 'ok' ? 200 : 503);
    },
  );

  addRoute(
    {
      method: 'GET',
      path: '/v2',
      id: 'home',
      tag: 'service',
      summary: 'What there is: a template for each path, and its methods',
      answers: { 200: json('All resources.', homeSchema) },
      refuses: [],
    },
    (context) => context.json(homeOf(routes)),
  );
}

function homeOf(routes: readonly Route[]): z.input<typeof homeSchema> {
  return {
    resources: Object.fromEntries(
      [...Map.groupBy(routes, ({ path }) => templateOf(path))].map(([template, served]) => [
        template,
        { 'href-template': template, hints: { allow: served.map(({ method }) => method) } },
      ]),
    ),
  };
}
