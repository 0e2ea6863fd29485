import * as z from 'zod';
import { lookAtHealth } from './health.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';

const check = z.enum(['ok', 'failing']);

/** `queues`: approximate numbers of messages. `overdue`: retries, counted up to 1,000. Each is absent where it could not be read. */
export const healthSchema = z.object({
  status: check,
  checks: z.object({ subscriptionsTable: check, deliveriesTable: check, queues: check }),
  queues: z.record(z.string(), z.int()).exactOptional(),
  overdue: z.int().exactOptional(),
});

/** What there is, after the JSON home of Zaqar: a template for each path, and its methods. */
export const homeSchema = z.object({
  resources: z.record(
    z.string(),
    z.object({ 'href-template': z.string(), hints: z.object({ allow: z.array(z.string()) }) }),
  ),
});

/** About the service itself. Added after all other routes, which the home names. */
export function addServiceRoutes(api: Api, dependencies: ApiDependencies): void {
  api.get('/v2/ping', (context) => context.body(null, 204));

  api.get('/v2/health', async (context) => {
    const { faults, checks, ...counts } = await lookAtHealth(dependencies);
    for (const fault of faults) dependencies.reportFault(fault, context.env.caller);
    const status = faults.length === 0 ? 'ok' : 'failing';
    const answer: z.input<typeof healthSchema> = { status, checks, ...counts };
    return context.json(answer, status === 'ok' ? 200 : 503);
  });

  api.get('/v2', (context) => context.json(home));

  const home = homeOf(api.routes);
}

function homeOf(routes: Api['routes']): z.input<typeof homeSchema> {
  return {
    resources: Object.fromEntries(
      [...Map.groupBy(routes, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))].map(([template, served]) => [
        template,
        { 'href-template': template, hints: { allow: served.map(({ method }) => method) } },
      ]),
    ),
  };
}
