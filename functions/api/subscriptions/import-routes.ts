import * as z from 'zod';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { subscriberIdentity } from '../../../shared/domain/subscription/subscriber-url.ts';
import { MOST_IN_A_TRANSACTION } from '../../../shared/ports/subscriptions.ts';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import { confirmationSchema, confirmationView } from '../../../shared/wire/views/subscription.ts';
import { type Caller, subscriptionDifference, subscriptionDigest } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { errorBody, errorSchema, ourFault, RefusedRequest } from '../errors.ts';
import { flag } from '../fields.ts';
import { answerBytesOf, MAX_ANSWER_BYTES } from '../paging.ts';
import { queueName } from '../paths.ts';
import { parseWith, readText } from '../request-json.ts';
import { type AddRoute, json } from '../route.ts';
import { sendOwedConfirmation } from './ask-confirmation.ts';
import { type ImportResult, importSubscriptions, withoutSuccess } from './import-subscriptions.ts';
import { subscriptionLine } from './request.ts';
import type { SubscriptionRequest } from './subscribe.ts';

/**
 * Lines of one export or import: a few seconds' work, where a request has 29 s. API Gateway passes on an answer of an HTTP API only
 * when it is whole ("Stream the integration response", API Gateway developer guide), so a longer file is several requests.
 */
export const MOST_LINES = 500;

export const jsonLines = z.string().meta({ description: 'JSON lines: one subscription each.' });

const importQuery = z.object({ replace: flag });

/** Where a line is, counted from 1 with blank lines. */
const lineNumber = z.int().positive();

/** A line whose subscription is on the queue now. `secret`: of an imported one, shown here and never again. */
const doneLine = z.object({
  line: lineNumber,
  result: z.enum(['imported', 'replaced', 'unchanged']),
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
  confirmation: confirmationSchema.exactOptional(),
});

/** Each line that is not blank is in one of the two lists, which are in the order of the lines. */
const importAnswerSchema = z.object({
  imported: z.int(),
  replaced: z.int(),
  unchanged: z.int(),
  subscriptions: z.array(doneLine),
  failed: z.array(errorSchema.extend({ line: lineNumber })),
});

type ImportAnswer = z.infer<typeof importAnswerSchema>;

/** The route that imports subscriptions from JSON lines. */
export function addImportRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, reportFault } = dependencies;

  addRoute(
    {
      method: 'POST',
      path: '/v2/queues/:queue/import',
      id: 'importSubscriptions',
      tag: 'queues',
      summary: 'Subscribes by JSON lines, as an export writes them',
      description:
        'The secrets of imported subscriptions are shown here and never again. Where a line has failed with `internal`, send it again.',
      query: importQuery,
      body: { schema: jsonLines, mediaTypes: ['application/jsonl'], required: false },
      answers: { 200: json('What became of the lines.', importAnswerSchema) },
      refuses: [400, 404, 409, 413],
    },
    async (context) => {
      const queue = queueName(context.req.param('queue'));
      const { replace } = parseWith(importQuery, context.req.query());
      const { caller, publicUrl } = context.env;
      const lines = await readLines(context.req);
      const results: Results = new Map();
      for (const chunk of chunksOf(readRequests(lines, queue, results))) {
        const requests = chunk.map(({ request }) => request);
        const imported = await importSubscriptions(dependencies, queue, { requests, replace }).catch(
          (error: unknown) => requests.map(() => withoutSuccess(error)),
        );
        for (const result of imported) auditImport(caller, queue, result);
        const asked = await Promise.all(imported.map((result) => withConfirmation(result, publicUrl)));
        for (const [index, result] of asked.entries()) results.set(chunk[index]?.line ?? 0, result);
        if (asked.some(({ kind }) => kind === 'failed')) break;
      }
      reportFailure(results, { queue, ...caller });
      return context.json(answerOf(lines, results, caller));
    },
  );

  /** The requests in these lines; those that are refused have their result. */
  const readRequests = (lines: readonly Line[], queue: string, results: Results): readonly Requested[] =>
    lines.flatMap(({ number, text }) => {
      try {
        return [{ line: number, request: { queue, ...subscriptionLine(parseLine(text), dependencies) } }];
      } catch (error) {
        results.set(number, withoutSuccess(error));
        return [];
      }
    });

  const auditImport = (caller: Caller, queue: string, result: ImportResult): void => {
    if (result.kind === 'imported') {
      const { id: subscriptionId } = result.subscription;
      const after = subscriptionDigest(result.subscription);
      audit(caller, { change: 'subscription_imported', queue, subscriptionId, after });
    }
    if (result.kind === 'replaced') {
      const { id: subscriptionId } = result.subscription;
      const difference = subscriptionDifference(result.before, result.subscription);
      audit(caller, { change: 'subscription_changed', queue, subscriptionId, ...difference });
    }
  };

  const withConfirmation = async (result: ImportResult, publicUrl: string): Promise<ImportResult> =>
    isDone(result)
      ? { ...result, subscription: await sendOwedConfirmation(dependencies, result.subscription, publicUrl) }
      : result;

  /** @throws the fault of ours, where no line is done: then there is no secret to answer, and the caller repeats the whole */
  const reportFailure = (results: Results, ids: Caller & { queue: string }): void => {
    const all = [...results.values()];
    const failed = all.find((result) => result.kind === 'failed');
    if (failed === undefined) return;
    if (!all.some(isDone)) throw failed.fault;
    reportFault(failed.fault, ids);
  };
}

type Line = { number: number; text: string };

type Requested = { line: number; request: SubscriptionRequest };

/** By the number of the line. One that has none was not begun. */
type Results = Map<number, ImportResult>;

type Done = Extract<ImportResult, { subscription: unknown }>;

function isDone(result: ImportResult): result is Done {
  return 'subscription' in result;
}

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

function parseLine(text: string): unknown {
  const json = parseJson(text);
  if (json === undefined) throw new RefusedRequest('invalid_json', 'the line is not JSON');
  return json.value;
}

/** In order, as many with different subscribers as one transaction adds. */
function chunksOf(requested: readonly Requested[]): readonly Requested[][] {
  const chunks: Requested[][] = [];
  const subscribers = new Set<string>();
  for (const one of requested) {
    const subscriber = subscriberIdentity(one.request.subscriber);
    const last = chunks.at(-1);
    if (last === undefined || last.length === MOST_IN_A_TRANSACTION || subscribers.has(subscriber)) {
      chunks.push([one]);
      subscribers.clear();
    } else {
      last.push(one);
    }
    subscribers.add(subscriber);
  }
  return chunks;
}

function answerOf(lines: readonly Line[], results: Results, { requestId }: Caller): ImportAnswer {
  const answer: ImportAnswer = { imported: 0, replaced: 0, unchanged: 0, subscriptions: [], failed: [] };
  let room = MAX_ANSWER_BYTES - lines.length * BRIEF_BYTES;
  for (const { number: line } of lines) {
    const result = results.get(line);
    if (result !== undefined && isDone(result)) {
      answer[result.kind] += 1;
      answer.subscriptions.push({ line, ...doneView(result) });
    } else {
      const refusal = result?.kind === 'refused' ? result.refusal : ourFault(requestId);
      const fault = { line, ...errorBody(refusal) };
      room -= answerBytesOf(fault);
      answer.failed.push(room < 0 ? { line, ...errorBody(withoutFaults(refusal)) } : fault);
    }
  }
  return answer;
}

function doneView(result: Done): Omit<z.infer<typeof doneLine>, 'line'> {
  return {
    result: result.kind,
    subscription_id: result.subscription.id,
    ...(result.kind === 'imported' && { secret: secretText(result.secret) }),
    ...confirmationView(result.subscription),
  };
}

/** More than the answer to a line takes without its faults. */
const BRIEF_BYTES = 300;

function withoutFaults({ code }: RefusedRequest): RefusedRequest {
  return new RefusedRequest(
    code,
    'too many faults for one answer; import this line by itself to see its own',
  );
}
