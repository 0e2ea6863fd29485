import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Page } from '../../../shared/ports/page.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import { redactedLineOf, wholeLineOf } from '../../../shared/wire/views/subscription.ts';
import { type Caller, subscriptionDifference, subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type AddRoute, json } from '../route.ts';
import { errorBody, errorSchema, notFound, refusalOf, RefusedRequest, subscriberTaken } from '../errors.ts';
import { flag } from '../fields.ts';
import { answerBytesOf, MAX_ANSWER_BYTES, nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { MAX_REQUEST_BYTES, parseWith, readText } from '../request-json.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { subscriptionLine } from './request.ts';
import { readExportPage, type ImportResult, importSubscription, MOST_LINES } from './transfer.ts';

/** Strict, so that a misspelt parameter is refused and not taken for a request for credentials. */
export const exportQuery = z.strictObject({ marker: pageFields.marker });
export const importQuery = z.object({ replace: flag });

const EXPORT = '/v2/queues/:queue/export';
const CREDENTIALS = '/v2/credentials/:queue';

const lines = z.string().meta({ description: 'JSON lines: one subscription each.' });

const exportedLines = {
  description: 'A page of them; `link` leads to the next one, if there is one.',
  headers: z.object({ link: z.string().exactOptional() }),
  content: { 'application/jsonl': { schema: lines } },
};

/** The routes that export and import the subscriptions of a queue as JSON lines. */
export function addTransferRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { registry, audit } = dependencies;

  addRoute(
    {
      method: 'GET',
      path: EXPORT,
      id: 'exportSubscriptions',
      tag: 'queues',
      summary: 'The subscriptions of a queue as JSON lines',
      description: 'Headers that hold credentials are redacted.',
      query: exportQuery,
      answers: { 200: exportedLines },
      refuses: [400, 404],
    },
    async (context) => {
      const queue = queueName(context.req.param('queue'));
      const part = await readExport(queue, context.req.query(), redactedLineOf);
      return context.body(part.text, 200, headersOf(`${queuePath(queue)}/export`, part));
    },
  );

  // Not below /v2/queues, so that whoever may call everything of a queue may still not call this.
  addRoute(
    {
      method: 'POST',
      path: CREDENTIALS,
      permission: 'credentials',
      id: 'exportCredentials',
      tag: 'queues',
      summary: 'The subscriptions of a queue as JSON lines, with their credentials',
      description: 'Not below `/v2/queues`: it has to be allowed by itself. It is on the audit trail.',
      query: exportQuery,
      answers: { 200: exportedLines },
      refuses: [400, 404],
    },
    async (context) => {
      const queue = queueName(context.req.param('queue'));
      const part = await readExport(queue, context.req.query(), wholeLineOf);
      audit(context.env.caller, { change: 'credentials_exported', queue, subscriptions: part.items.length });
      return context.body(part.text, 200, headersOf(CREDENTIALS.replace(':queue', queue), part));
    },
  );

  type ExportPage = Page<Subscription> & { text: string };

  /** @throws RefusedRequest */
  const readExport = async (
    queue: string,
    query: unknown,
    lineOf: (subscription: Subscription) => string,
  ): Promise<ExportPage> => {
    const request = parseWith(exportQuery, query);
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const textOf = (items: readonly Subscription[]): string =>
      items.map((item) => `${lineOf(item)}\n`).join('');
    const page = await readExportPage(
      dependencies,
      { queue, ...request },
      (items) => Buffer.byteLength(textOf(items)) <= MAX_REQUEST_BYTES,
    );
    return { ...page, text: textOf(page.items) };
  };

  const headersOf = (path: string, page: Page<Subscription>): Record<string, string> => {
    const [next] = nextLinks(path, page, {});
    return {
      'content-type': 'application/jsonl',
      ...(next && { link: `<${next.href}>; rel="next"` }),
    };
  };

  addRoute(
    {
      method: 'POST',
      path: '/v2/queues/:queue/import',
      id: 'importSubscriptions',
      tag: 'queues',
      summary: 'Subscribes by JSON lines, as an export writes them',
      query: importQuery,
      body: { schema: lines, mediaTypes: ['application/jsonl'], required: false },
      answers: { 200: json('What became of the lines.', importAnswerSchema) },
      refuses: [400, 404, 409, 413],
    },
    async (context) => {
      const queue = queueName(context.req.param('queue'));
      const { replace } = parseWith(importQuery, context.req.query());
      const { caller, publicUrl } = context.env;
      const importLine = async (value: unknown) => {
        const line = subscriptionLine(value, dependencies);
        const result = await importSubscription(dependencies, { queue, ...line }, { replace });
        if (result.kind === 'conflict') throw subscriberTaken(result.subscriptionId);
        auditImport(caller, queue, result);
        await sendOwedConfirmation(dependencies, subscriptionAfter(result), publicUrl);
        return result.kind;
      };
      return context.json(await importAll(await readLines(context.req), importLine));
    },
  );

  const auditImport = (caller: Caller, queue: string, result: ImportResult): void => {
    if (result.kind === 'imported') {
      const { id: subscriptionId } = result.subscription;
      const after = subscriptionDigest(result.subscription);
      audit(caller, { change: 'subscription_imported', queue, subscriptionId, after });
    }
    if (result.kind === 'replaced') {
      const { id: subscriptionId } = result.after;
      const difference = subscriptionDifference(result.before, result.after);
      audit(caller, { change: 'subscription_changed', queue, subscriptionId, ...difference });
    }
  };
}

function subscriptionAfter(result: Exclude<ImportResult, { kind: 'conflict' }>): Subscription {
  switch (result.kind) {
    case 'imported':
      return result.subscription;
    case 'replaced':
      return result.after;
    case 'unchanged':
      return result.current;
  }
}

type Line = { number: number; text: string };

/** The answer to an import. `line` counts from 1, and counts blank lines. */
export const importAnswerSchema = z.object({
  imported: z.int(),
  replaced: z.int(),
  unchanged: z.int(),
  failed: z.array(errorSchema.extend({ line: z.int().positive() })),
});

type ImportAnswer = z.infer<typeof importAnswerSchema>;

/** The lines that are not blank. @throws RefusedRequest for more than 1 MiB or 500 lines, and for text that is not UTF-8 */
async function readLines(request: { arrayBuffer(): Promise<ArrayBuffer> }): Promise<readonly Line[]> {
  const text = await readText(request);
  const lines = text
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '');
  if (lines.length <= MOST_LINES) return lines;
  throw new RefusedRequest('too_large', `the import has more than ${MOST_LINES} lines`);
}

/**
 * Imports line after line; a refused line does not stop the others.
 * @throws a fault of ours; the lines before it are imported, and a repeat finds them unchanged
 */
async function importAll(
  lines: readonly Line[],
  importLine: (value: unknown) => Promise<'imported' | 'replaced' | 'unchanged'>,
): Promise<ImportAnswer> {
  const sum: ImportAnswer = { imported: 0, replaced: 0, unchanged: 0, failed: [] };
  let room = MAX_ANSWER_BYTES - lines.length * BRIEF_BYTES;
  for (const { number, text } of lines) {
    try {
      sum[await importLine(parseLine(text))] += 1;
    } catch (error) {
      const refused = refusalOf(error);
      if (refused === undefined) throw error;
      const fault = { line: number, ...errorBody(refused) };
      room -= answerBytesOf(fault);
      sum.failed.push(room < 0 ? { line: number, ...errorBody(withoutFaults(refused)) } : fault);
    }
  }
  return sum;
}

/** More than the answer to a line takes without its faults. */
const BRIEF_BYTES = 200;

function withoutFaults({ code }: RefusedRequest): RefusedRequest {
  return new RefusedRequest(
    code,
    'too many faults for one answer; import this line by itself to see its own',
  );
}

function parseLine(text: string): unknown {
  const json = parseJson(text);
  if (json === undefined) throw new RefusedRequest('invalid_json', 'the line is not JSON');
  return json.value;
}
