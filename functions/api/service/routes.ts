import * as z from 'zod';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { toError } from '../../../shared/domain/errors.ts';
import type { QueueDepth } from '../../../shared/ports/queues.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { gatewayErrorSchema } from '../errors.ts';
import { type AddRoute, json, jsonAnswer, noBody } from '../route.ts';
import type { ServedRoute } from '../serve.ts';

const check = z.enum(['ok', 'failing']);

/**
 * `queues` and `delayed`: approximate numbers of waiting and of delayed messages. `overdue`: retries, counted up to
 * 1,000. Each is absent if it could not be read.
 */
export const healthSchema = z.object({
  status: check,
  checks: z.object({ subscriptionsTable: check, deliveriesTable: check, queues: check }),
  queues: z.record(z.string(), z.int()).describe('Waiting messages by queue, approximate.').exactOptional(),
  delayed: z.record(z.string(), z.int()).describe('Delayed messages by queue, approximate.').exactOptional(),
  overdue: z.int().describe('Overdue retries, counted up to 1,000.').exactOptional(),
  retentionDays: z.number().describe('How long messages stay on record at most.'),
});

/** All resources in the form of Zaqar's JSON home: a template for each path, and its methods. */
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

const VERSIONS: z.input<typeof versionsSchema> = {
  versions: [{ id: '2', status: 'CURRENT', links: [{ href: '/v2', rel: 'self' }] }],
};

/**
 * The routes about the service itself.
 * @param routes all routes of the API; may be incomplete until the first request
 */
export function addServiceRoutes(
  addRoute: AddRoute,
  dependencies: ApiDependencies,
  routes: readonly ServedRoute[],
): void {
  let cachedDocument: { url: string; text: string } | undefined;

  addRoute({
    key: 'GET /v2/openapi.json',
    id: 'describe',
    summary: 'Shows this OpenAPI document',
    answers: { 200: json('The OpenAPI 3.1 document.', z.looseObject({ openapi: z.string() })) },
    refuses: [],
    handle: async ({ publicUrl: url }) => {
      if (cachedDocument?.url !== url) {
        // Imported on demand, so that other requests do not wait for it after a cold start.
        const { openApiDocument } = await import('../openapi-document.ts');
        const document = openApiDocument({ routes, version: dependencies.settings.version, url });
        cachedDocument = { url, text: JSON.stringify(document) };
      }
      return { headers: { 'content-type': 'application/json' }, body: cachedDocument.text };
    },
  });

  addRoute({
    key: 'GET /',
    id: 'listVersions',
    summary: 'Lists the versions of the API',
    answers: { 300: json('The only version.', versionsSchema) },
    refuses: [],
    handle: () => jsonAnswer(VERSIONS, 300),
  });

  addRoute({
    key: 'GET /v2/ping',
    id: 'ping',
    summary: 'Checks that the API responds',
    answers: { 204: noBody('The API responds.') },
    refuses: [],
    open: true,
    handle: () => ({ status: 204 }),
  });

  addRoute({
    key: 'GET /v2/health',
    id: 'health',
    summary: 'Checks the tables and SQS queues, and counts waiting messages and overdue retries',
    answers: {
      200: json('All checks pass.', healthSchema),
      503: json('A check fails.', z.union([healthSchema, gatewayErrorSchema])),
    },
    refuses: [],
    handle: async ({ caller }) => {
      const { faults, checks, ...counts } = await readHealth(dependencies);
      for (const fault of faults) dependencies.reportFault(fault, caller);
      const status = faults.length === 0 ? 'ok' : 'failing';
      const retentionDays = dependencies.settings.retentionMs / DAY_MS;
      const answer: z.input<typeof healthSchema> = { status, checks, ...counts, retentionDays };
      return jsonAnswer(answer, status === 'ok' ? 200 : 503);
    },
  });

  addRoute({
    key: 'GET /v2',
    id: 'home',
    summary: 'Lists all paths, with their methods',
    answers: { 200: json('All resources.', homeSchema) },
    refuses: [],
    handle: () => jsonAnswer(buildHome(routes)),
  });
}

function buildHome(routes: readonly ServedRoute[]): z.input<typeof homeSchema> {
  return {
    resources: Object.fromEntries(
      [...Map.groupBy(routes, ({ path }) => path)].map(([template, served]) => [
        template,
        { 'href-template': template, hints: { allow: served.map(({ method }) => method) } },
      ]),
    ),
  };
}

/** `faults` are for the log. */
type Health = Omit<z.input<typeof healthSchema>, 'status' | 'retentionDays'> & { faults: readonly Error[] };

/** Counting stops here, to bound the cost. */
const MAX_OVERDUE = 1_000;

/** The queue name that the checks read. The queue need not exist. */
const PROBE_QUEUE = 'health';

/** Whether the tables and SQS queues of the deployment answer. A failed check is a result and does not throw. */
async function readHealth(context: ApiDependencies): Promise<Health> {
  const { registry, messageRecords, deliveries, queueDepths, clock, settings } = context;
  const [subscriptionsTable, deliveriesTable, queues] = await Promise.allSettled([
    registry.findQueue(PROBE_QUEUE),
    Promise.all([
      deliveries.overdue(clock.now() - settings.overdueAfterMs, MAX_OVERDUE),
      messageRecords.find({ queue: PROBE_QUEUE, messageId: PROBE_QUEUE }),
    ]),
    queueDepths.approximate(),
  ]);
  return {
    checks: {
      subscriptionsTable: classifyResult(subscriptionsTable),
      deliveriesTable: classifyResult(deliveriesTable),
      queues: classifyResult(queues),
    },
    ...(queues.status === 'fulfilled' && {
      queues: countEach(queues.value, ({ waiting }) => waiting),
      delayed: countEach(queues.value, ({ delayed }) => delayed),
    }),
    ...(deliveriesTable.status === 'fulfilled' && { overdue: deliveriesTable.value[0].length }),
    faults: [subscriptionsTable, deliveriesTable, queues].flatMap((check) =>
      check.status === 'fulfilled' ? [] : [toError(check.reason)],
    ),
  };
}

function countEach(
  depths: Record<string, QueueDepth>,
  count: (depth: QueueDepth) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(depths).map(([name, depth]) => [name, count(depth)]));
}

function classifyResult({ status }: PromiseSettledResult<unknown>): 'ok' | 'failing' {
  return status === 'fulfilled' ? 'ok' : 'failing';
}
