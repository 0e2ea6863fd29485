import { type Context, Hono } from 'hono';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { type RedrivenQueue, REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import {
  type ConsoleFailureCode,
  deadLetterChoiceSchema,
  type DeadLetterCounts,
  type DeadLetterLook,
  type DeadLetterResult,
} from '../../../shared/wire/views/console.ts';
import { CredentialsProblem } from '../../api/api-access.ts';
import { boundedBody } from '../../bounded-body.ts';
import { deleteDeadLetters, redriveDeadLetters } from '../../dead-letters/change.ts';
import { type DeadLetterAccess, DeploymentNotNamed } from '../../dead-letters/dead-letter-access.ts';
import { lookAtDeadLetters, findDeadLetter, NoSuchDeadLetter } from '../../dead-letters/look.ts';
import { RunFailedError } from '../../dead-letters/process-dead-letters.ts';
import { hiddenFields, type RunOutcome, toRunOutcome } from '../../dead-letters/run-text.ts';
import { failureText } from '../../failure-report.ts';
import { Problem } from '../../../local/install/problem.mjs';

/** What the page asks of the queues themselves, which the API does not show. */
export const DEAD_LETTERS = '/api-local/dead-letters';

/** More than a choice of a thousand ids. */
const MAX_BYTES = 100_000;

const whichSchema = z.enum(REDRIVEN_QUEUES);
const text = z.string().min(1);
const lookSchema = z.strictObject({
  queue: text.exactOptional(),
  subscription: text.exactOptional(),
  reason: text.exactOptional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

/** The routes under `DEAD_LETTERS`. `signal` ends what is under way when the console stops. */
export function deadLetterRoutes(open: () => Promise<DeadLetterAccess>, signal: AbortSignal): Hono {
  const routes = new Hono().basePath(DEAD_LETTERS);
  routes.get('/', async (context) => context.json(await countDeadLetters(await open())));
  routes.get('/:which', async (context) => {
    const filter = lookSchema.parse(context.req.query());
    return context.json(await look(await open(), whichIn(context), filter, signal));
  });
  routes.get('/:which/:id', async (context) => {
    const which = whichIn(context);
    const { portsOf } = await open();
    return context.json(await findDeadLetter(portsOf(which), which, context.req.param('id'), signal));
  });
  for (const [path, change] of Object.entries({ redrive: redriveDeadLetters, delete: deleteDeadLetters }))
    routes.post(`/:which/${path}`, async (context) => {
      const { ids } = deadLetterChoiceSchema.parse(await context.req.json());
      const filter = { id: ids };
      // The ids choose exactly; this clock may be behind that of SQS.
      const request = { filter, limit: ids.length, startedAt: Infinity, signal };
      const outcome = toRunOutcome(await change(await open(), whichIn(context), request), filter);
      return context.json(toDeadLetterResult(outcome));
    });
  routes.notFound(() => buildRefusal(404, 'not_found', 'there is no such route'));
  routes.onError(answerToFailure);
  return routes;
}

/** Passes a request of the page to the routes. */
export async function answerBy(routes: Hono, request: IncomingMessage): Promise<Response> {
  const { method = 'GET', url = '' } = request;
  const body = await boundedBody(request, MAX_BYTES);
  if (body === undefined) return buildRefusal(413, 'too_large', `the body exceeds ${MAX_BYTES} bytes`);
  return routes.request(url, { method, ...(body.length > 0 && { body }) });
}

function whichIn({ req }: Context): RedrivenQueue {
  return whichSchema.parse(req.param('which'));
}

async function countDeadLetters({ portsOf }: DeadLetterAccess): Promise<DeadLetterCounts> {
  const queues = REDRIVEN_QUEUES.map(async (which) => ({
    which,
    ...(await portsOf(which).deadLetters.counts()),
  }));
  return { queues: await Promise.all(queues) };
}

async function look(
  access: DeadLetterAccess,
  which: RedrivenQueue,
  { limit, ...filter }: z.infer<typeof lookSchema>,
  signal: AbortSignal,
): Promise<DeadLetterLook> {
  const api = which === 'undeliverable' ? await access.api() : undefined;
  const request = { which, filter, limit, signal, api };
  const { items, result, statesProblem } = await lookAtDeadLetters(access.portsOf(which), request);
  return {
    place: access.place,
    deadLetters: items,
    total: result.total,
    complete: result.end === 'emptied' || result.left === 0,
    ...hiddenFields(result.hidden, Date.now()),
    ...(statesProblem !== undefined && { statesProblem }),
  };
}

function toDeadLetterResult(outcome: RunOutcome): DeadLetterResult {
  const { handled, settled = {}, skipped, missing, hidden, hiddenUntil } = outcome;
  return { handled, settled, skipped, missing, hidden, ...(hiddenUntil !== undefined && { hiddenUntil }) };
}

function answerToFailure(error: Error): Response {
  if (error instanceof z.ZodError) return buildRefusal(400, 'invalid_request', z.prettifyError(error));
  if (error instanceof SyntaxError) return buildRefusal(400, 'invalid_request', error.message);
  const cause = error instanceof RunFailedError ? error.causes[0] : error;
  const [status, code] = classifyCause(cause);
  return buildRefusal(status, code, failureText(cause));
}

function classifyCause(cause: unknown): [status: number, code: Parameters<typeof buildRefusal>[1]] {
  if (cause instanceof NoSuchDeadLetter) return [404, 'not_found'];
  if (cause instanceof CredentialsProblem) return [502, cause.code];
  if (cause instanceof DeploymentNotNamed) return [503, 'deployment_not_named'];
  if (cause instanceof Problem) return [503, 'no_deployment'];
  const isDenied = cause instanceof Error && /access.?denied/i.test(cause.name);
  return isDenied ? [403, 'sqs_forbidden'] : [502, 'unavailable'];
}

function buildRefusal(
  status: number,
  code: ConsoleFailureCode | 'not_found' | 'invalid_request' | 'too_large',
  message: string,
): Response {
  return Response.json({ error: { code, message } }, { status });
}
