import * as z from 'zod';
import { type Subscription, isPresent } from '../../../shared/domain/subscription/subscription.ts';
import { openedAuth } from '../../../shared/steps/authorise.ts';
import type { Page } from '../../../shared/ports/page.ts';
import { redactedExportLineOf, exportLineOf } from '../../../shared/wire/views/subscription.ts';
import type { ApiDependencies, SecretDependencies } from '../dependencies.ts';
import { existingQueue } from '../existing.ts';
import { nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { MAX_MESSAGE_BYTES, parseWith } from '../request-json.ts';
import type { AddRoute } from '../route.ts';
import { jsonLines, MAX_LINES } from './import-routes.ts';

/** Strict, so that a misspelt parameter is refused. */
const exportQuery = z.strictObject({ marker: pageFields.marker });

const EXPORT = '/v2/queues/:queue/export';
const CREDENTIALS = '/v2/credentials/:queue';

const exportedLines = {
  description: 'A page of subscriptions. The header `link` leads to the next page, if any.',
  headers: z.object({ link: z.string().exactOptional() }),
  content: { 'application/jsonl': { schema: jsonLines } },
};

type ExportContext = Pick<ApiDependencies, 'registry' | 'clock'>;

/** The route that exports the subscriptions of a queue as JSON lines. */
export function addExportRoute(addRoute: AddRoute, dependencies: ExportContext): void {
  addRoute(
    {
      method: 'GET',
      path: EXPORT,
      id: 'exportSubscriptions',
      tag: 'queues',
      summary: 'Exports the subscriptions of a queue as JSON lines',
      description: 'Credentials are redacted, in headers and in `auth`.',
      query: exportQuery,
      answers: { 200: exportedLines },
      refuses: [400, 404],
    },
    async (context) => {
      const queue = queueName(context.req.param('queue'));
      const part = await readExport(dependencies, queue, context.req.query(), redactedLine);
      return context.body(part.items.join(''), 200, headersOf(`${queuePath(queue)}/export`, part));
    },
  );
}

/** The same with credentials. Without `secrets` it is only described: the function that may open them serves it. */
export function addCredentialsRoute(addRoute: AddRoute, secrets: SecretDependencies | undefined): void {
  // Not below /v2/queues, so that an IAM policy for all routes of a queue does not allow it.
  addRoute(
    {
      method: 'POST',
      path: CREDENTIALS,
      permission: 'credentials',
      id: 'exportCredentials',
      tag: 'queues',
      summary: 'Exports the subscriptions of a queue as JSON lines, with their credentials',
      description:
        'Outside `/v2/queues`, so that it needs a separate permission. Each call is in the audit trail.',
      query: exportQuery,
      answers: { 200: exportedLines },
      refuses: [400, 404],
    },
    secrets &&
      (async (context) => {
        const queue = queueName(context.req.param('queue'));
        const lineWithCredentials: LineOf = async (subscription) =>
          exportLineOf(subscription, await openedAuth(secrets.secretOpener, subscription));
        const part = await readExport(secrets, queue, context.req.query(), lineWithCredentials);
        const subscriptions = part.items.length;
        secrets.audit(context.env.caller, { change: 'credentials_exported', queue, subscriptions });
        return context.body(part.items.join(''), 200, headersOf(CREDENTIALS.replace(':queue', queue), part));
      }),
  );
}

const redactedLine: LineOf = (subscription) => Promise.resolve(redactedExportLineOf(subscription));

/** @throws RefusedRequest */
async function readExport(
  context: ExportContext,
  queue: string,
  query: unknown,
  lineOf: LineOf,
): Promise<Page<string>> {
  const request = parseWith(exportQuery, query);
  await existingQueue(context, queue);
  return readExportPage(context, { queue, ...request }, lineOf);
}

function headersOf(path: string, page: Page<string>): Record<string, string> {
  const [next] = nextLinks(path, page, {});
  return {
    'content-type': 'application/jsonl',
    ...(next && { link: `<${next.href}>; rel="next"` }),
  };
}

/** Subscriptions in one read. With options of 64 KiB each, they still fit into one import. */
const PAGE_SIZE = 10;

type LineOf = (subscription: Subscription) => Promise<string>;

/**
 * The lines of the present subscriptions of a queue from `marker` on: at least one read; then up to 500 lines and 1 MiB.
 * @throws InvalidMarkerError
 */
async function readExportPage(
  { registry, clock }: ExportContext,
  { queue, marker }: { queue: string; marker?: string },
  lineOf: LineOf,
): Promise<Page<string>> {
  let taken: readonly string[] = [];
  let next = marker;
  for (;;) {
    const page = await registry.listSubscriptions(queue, { limit: PAGE_SIZE, marker: next });
    const now = clock.now();
    const lines = await Promise.all(page.items.filter((item) => isPresent(item, now)).map(lineOf));
    const longer = [...taken, ...lines.map((line) => `${line}\n`)];
    const isTooLong = longer.length > MAX_LINES || Buffer.byteLength(longer.join('')) > MAX_MESSAGE_BYTES;
    if (taken.length > 0 && isTooLong) break;
    taken = longer;
    next = page.marker;
    if (next === undefined) break;
  }
  return { items: taken, ...(next !== undefined && { marker: next }) };
}
