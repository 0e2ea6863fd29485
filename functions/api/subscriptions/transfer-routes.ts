import * as z from 'zod';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { destinationIdentity } from '../../../shared/domain/subscription/destination.ts';
import { MAX_SUBSCRIPTIONS_PER_TRANSACTION } from '../../../shared/ports/subscriptions.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import {
  subscribedSchema,
  confirmationView,
  type ExportedSecret,
  toRedactedExportLine,
  toExportLine,
} from '../../../shared/wire/views/subscription.ts';
import { type Caller, subscriptionDifference, subscriptionDigest } from '../audit.ts';
import type { ApiDependencies, SecretDependencies } from '../dependencies.ts';
import { errorBody, errorSchema, internalError, RefusedRequest } from '../errors.ts';
import { flag } from '../fields.ts';
import { countAnswerBytes, MAX_ANSWER_BYTES, nextLinks, pageFields } from '../paging.ts';
import { readText, MAX_MESSAGE_BYTES } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { type ImportResult, importSubscriptions, importFailure } from './import-subscriptions.ts';
import { subscriptionLine } from './request.ts';
import type { SubscriptionRequest } from './subscribe.ts';
import { type Subscription, isPresent } from '../../../shared/domain/subscription/subscription.ts';
import { openedAuth, openedSecrets } from '../../../shared/steps/sign-request.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { Page } from '../../../shared/ports/page.ts';
import { existingQueue } from '../existing.ts';

/**
 * Lines in one export or import, which take a few of the 29 s that a request has. Longer files take several requests,
 * because HTTP APIs do not stream responses ("Stream the integration response", API Gateway developer guide).
 */
export const MAX_LINES = 500;

export const jsonLines = z.string().meta({ description: 'JSON lines, each with one subscription.' });

const importQuery = z.strictObject({
  replace: flag.describe(
    'Whether to replace existing subscriptions that have other content. By default they are refused.',
  ),
});

/** Counted from 1, including blank lines. */
const lineNumber = z.int().positive();

/** A line whose subscription is now in the queue. `secret`: made for an imported one; no later response contains it. */
const successLine = z.object({
  line: lineNumber,
  result: z.enum(['imported', 'replaced', 'unchanged']),
  ...subscribedSchema.shape,
});

/** Each line that is not blank is in one of the two lists, in the order of the lines. */
const importAnswerSchema = z.object({
  imported: z.int(),
  replaced: z.int(),
  unchanged: z.int(),
  subscriptions: z.array(successLine),
  failed: z.array(errorSchema.extend({ line: lineNumber })),
});

/** The route that imports subscriptions from JSON lines. */
export function addImportRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, reportFault } = dependencies;

  addRoute({
    key: 'POST /v2/queues/{queue}/import',
    id: 'importSubscriptions',
    summary: 'Imports subscriptions from JSON lines, as an export writes them',
    description:
      'Only this response contains the signing secrets of imported subscriptions. If a line failed with `internal`, send it again.',
    query: importQuery,
    body: { required: false, content: { 'application/jsonl': { schema: jsonLines } } },
    answers: { 200: json('The result of each line.', importAnswerSchema) },
    handle: async ({ params: { queue }, query: { replace }, raw, caller, publicUrl }) => {
      const lines = readLines(raw.body);
      const results: Results = new Map();
      for (const chunk of splitIntoChunks(readRequests(lines, queue, results))) {
        const requests = chunk.map(({ request }) => request);
        const imported = await importSubscriptions(dependencies, queue, { requests, replace }).catch(
          (error: unknown) => requests.map(() => importFailure(error)),
        );
        for (const result of imported) auditImport(caller, queue, result);
        const asked = await Promise.all(imported.map((result) => withConfirmation(result, publicUrl)));
        for (const [index, result] of asked.entries()) results.set(chunk[index]?.line ?? 0, result);
        if (asked.some(({ kind }) => kind === 'failed')) break;
      }
      reportFailure(results, { queue, ...caller });
      return jsonAnswer(buildAnswer(lines, results, caller));
    },
  });

  /** The requests in these lines. For refused lines it adds the result. */
  const readRequests = (lines: readonly Line[], queue: string, results: Results): readonly LineRequest[] =>
    lines.flatMap(({ number, text }) => {
      try {
        const json = parseJson(text);
        if (json === undefined) throw new RefusedRequest('invalid_json', 'the line is not JSON');
        return [{ line: number, request: { queue, ...subscriptionLine(json.value, dependencies) } }];
      } catch (error) {
        results.set(number, importFailure(error));
        return [];
      }
    });

  const auditImport = (caller: Caller, queue: string, result: ImportResult): void => {
    if (!isSuccess(result)) return;
    const { id: subscriptionId } = result.subscription;
    if (result.kind === 'imported') {
      const after = subscriptionDigest(result.subscription);
      audit(caller, { change: 'subscription_imported', queue, subscriptionId, after });
    }
    if (result.kind === 'replaced') {
      const difference = subscriptionDifference(result.before, result.subscription);
      audit(caller, { change: 'subscription_changed', queue, subscriptionId, ...difference });
    }
  };

  const withConfirmation = async (result: ImportResult, publicUrl: string): Promise<ImportResult> =>
    isSuccess(result)
      ? { ...result, subscription: await sendOwedConfirmation(dependencies, result.subscription, publicUrl) }
      : result;

  /**
   * @throws the internal error if no line succeeded: there is no secret to return, and the caller repeats the import
   */
  const reportFailure = (results: Results, ids: Caller & { queue: string }): void => {
    const all = [...results.values()];
    const failed = all.find((result) => result.kind === 'failed');
    if (failed === undefined) return;
    if (!all.some(isSuccess)) throw failed.fault;
    reportFault(failed.fault, ids);
  };
}

type Line = { number: number; text: string };

type LineRequest = { line: number; request: SubscriptionRequest };

/** By line number. A line without a result was not processed. */
type Results = Map<number, ImportResult>;

type Success = Extract<ImportResult, { subscription: unknown }>;

function isSuccess(result: ImportResult): result is Success {
  return 'subscription' in result;
}

/**
 * The lines that are not blank.
 * @throws RefusedRequest for more than 1 MiB or 500 lines, and for text that is not UTF-8
 */
function readLines(body: Uint8Array): readonly Line[] {
  const lines = readText(body)
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '');
  if (lines.length <= MAX_LINES) return lines;
  throw new RefusedRequest('too_large', `the import has more than ${MAX_LINES} lines`);
}

/** Chunks for one transaction each, in order, with no destination twice. */
function splitIntoChunks(requested: readonly LineRequest[]): readonly LineRequest[][] {
  const chunks: LineRequest[][] = [];
  const identities = new Set<string>();
  for (const one of requested) {
    const identity = destinationIdentity(one.request.destination);
    const last = chunks.at(-1);
    if (last === undefined || last.length === MAX_SUBSCRIPTIONS_PER_TRANSACTION || identities.has(identity)) {
      chunks.push([one]);
      identities.clear();
    } else {
      last.push(one);
    }
    identities.add(identity);
  }
  return chunks;
}

function buildAnswer(lines: readonly Line[], results: Results, { requestId }: Caller) {
  const answer: z.infer<typeof importAnswerSchema> = {
    imported: 0,
    replaced: 0,
    unchanged: 0,
    subscriptions: [],
    failed: [],
  };
  let room = MAX_ANSWER_BYTES - lines.length * SHORT_RESULT_BYTES;
  for (const { number: line } of lines) {
    const result = results.get(line);
    if (result !== undefined && isSuccess(result)) {
      answer[result.kind] += 1;
      answer.subscriptions.push(buildSuccess(line, result));
    } else {
      const refusal = result?.kind === 'refused' ? result.refusal : internalError(requestId);
      const fault = { line, ...errorBody(refusal) };
      room -= countAnswerBytes(fault);
      answer.failed.push(room < 0 ? { line, ...errorBody(withoutFieldErrors(refusal)) } : fault);
    }
  }
  return answer;
}

function buildSuccess(line: number, result: Success): z.infer<typeof successLine> {
  const { kind, subscription } = result;
  return {
    line,
    result: kind,
    subscription_id: subscription.id,
    ...(kind === 'imported' && result.secret && { secret: secretText(result.secret) }),
    ...confirmationView(subscription),
  };
}

/** An upper bound for a line's result without its list of invalid fields. */
const SHORT_RESULT_BYTES = 300;

function withoutFieldErrors({ code }: RefusedRequest): RefusedRequest {
  return new RefusedRequest(
    code,
    'too many errors for one response; import this line alone to see its errors',
  );
}

/** Strict, so that a misspelt parameter is refused. */
const exportQuery = z.strictObject({ marker: pageFields.marker });

const credentialsQuery = exportQuery.extend({
  secrets: flag.describe('Whether the lines have the signing secrets, which an import keeps.'),
});

const exportedLines = {
  description: 'A page of subscriptions. The header `link` leads to the next page, if any.',
  headers: z.object({ link: z.string().exactOptional() }),
  content: { 'application/jsonl': { schema: jsonLines } },
};

type ExportContext = Pick<ApiDependencies, 'registry' | 'clock'>;

/** The route that exports the subscriptions of a queue as JSON lines. */
export function addExportRoute(addRoute: AddRoute, dependencies: ExportContext): void {
  addRoute({
    key: 'GET /v2/queues/{queue}/export',
    id: 'exportSubscriptions',
    summary: 'Exports the subscriptions of a queue as JSON lines',
    description: 'Credentials are redacted, in headers and in `auth`.',
    query: exportQuery,
    answers: { 200: exportedLines },
    handle: async ({ path, params: { queue }, query: { marker } }) => {
      const lineOf: LineOf = (subscription) => Promise.resolve(toRedactedExportLine(subscription));
      const part = await readExport(dependencies, queue, marker, lineOf);
      return { body: part.items.join(''), headers: buildHeaders(path, part, {}) };
    },
  });
}

/** The same with credentials. Without `secrets` it is only described: the function that may open them serves it. */
export function addCredentialsRoute(addRoute: AddRoute, secrets: SecretDependencies | undefined): void {
  // Not below /v2/queues, so that an IAM policy for all routes of a queue does not allow it.
  addRoute({
    key: 'POST /v2/credentials/{queue}',
    permission: 'credentials',
    id: 'exportCredentials',
    summary: 'Exports the subscriptions of a queue as JSON lines, with their credentials',
    description:
      'Outside `/v2/queues`, so that it needs a separate permission. Each call is in the audit trail.',
    query: credentialsQuery,
    answers: { 200: exportedLines },
    refuses: [400, 404],
    handle:
      secrets === undefined
        ? undefined
        : async ({ path, params: { queue }, query: { marker, secrets: withSecrets }, caller }) => {
            const lineWithCredentials: LineOf = async (subscription) =>
              toExportLine(
                subscription,
                await openedAuth(secrets.secretOpener, subscription),
                withSecrets ? await exportedSecrets(secrets, subscription) : [],
              );
            const part = await readExport(secrets, queue, marker, lineWithCredentials);
            const subscriptions = part.items.length;
            const more = withSecrets && { secrets: withSecrets };
            secrets.audit(caller, { change: 'credentials_exported', queue, subscriptions, ...more });
            return { body: part.items.join(''), headers: buildHeaders(path, part, { secrets: withSecrets }) };
          },
  });
}

async function exportedSecrets(
  { secretOpener, clock }: SecretDependencies,
  subscription: Subscription,
): Promise<ExportedSecret[]> {
  const opened = await openedSecrets(secretOpener, subscription, clock.now());
  return opened.map(({ secret, expiresAt }) => ({
    secret: secretText(secret),
    ...(expiresAt !== undefined && { expiresAt: timeText(expiresAt) }),
  }));
}

function buildHeaders(
  path: string,
  page: Page<string>,
  query: { secrets?: boolean },
): Record<string, string> {
  const [next] = nextLinks(path, page, query);
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
 * @throws InvalidMarkerError, RefusedRequest
 */
async function readExport(
  { registry, clock }: ExportContext,
  queue: string,
  marker: string | undefined,
  lineOf: LineOf,
): Promise<Page<string>> {
  let next = marker;
  await existingQueue({ registry }, queue);
  let taken: readonly string[] = [];
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
