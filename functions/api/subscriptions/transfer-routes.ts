import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { redactedLineOf, wholeLineOf } from '../../../shared/wire/views/subscription.ts';
import { askIfOwed } from './ask-confirmation.ts';
import { exportedPage, type ImportResult, importSubscription } from './transfer.ts';
import type { Page } from '../../../shared/ports/page.ts';
import { subscriptionDifference, subscriptionDigest } from '../audit-digest.ts';
import type { Caller } from '../audit.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { flag } from '../fields.ts';
import { importLines, sumOf } from './import-request.ts';
import { nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { MAX_REQUEST_BYTES, parsed } from '../request-json.ts';
import { subscriberTaken } from './answers.ts';
import { subscriptionLine } from './request.ts';

/** Strict, so that nobody takes an export for one with credentials. */
export const exportQuery = z.strictObject({ marker: pageFields.marker });
export const importQuery = z.object({ replace: flag });

const EXPORT = '/v2/queues/:queue/export';

/** Subscriptions as JSON lines, out of one queue and into another. */
export function addTransferRoutes(api: Api, dependencies: ApiDependencies): void {
  const { registry, audit } = dependencies;

  api.get(EXPORT, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const part = await exported(queue, context.req.query(), redactedLineOf);
    return context.body(part.text, 200, headersOf(`${queuePath(queue)}/export`, part));
  });

  // Another path and method than the export without them, so that whoever authorises can tell them apart.
  api.post(`${EXPORT}/credentials`, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const part = await exported(queue, context.req.query(), wholeLineOf);
    audit(context.env.caller, { change: 'credentials_exported', queue, subscriptions: part.items.length });
    return context.body(part.text, 200, headersOf(`${queuePath(queue)}/export/credentials`, part));
  });

  type Part = Page<Subscription> & { text: string };

  /** @throws RefusedRequest */
  const exported = async (
    queue: string,
    query: unknown,
    lineOf: (subscription: Subscription) => string,
  ): Promise<Part> => {
    const request = parsed(exportQuery, query);
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const textOf = (items: readonly Subscription[]): string =>
      items.map((item) => `${lineOf(item)}\n`).join('');
    const page = await exportedPage(
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

  api.post('/v2/queues/:queue/import', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const { replace } = parsed(importQuery, context.req.query());
    const { caller, publicUrl } = context.env;
    const importLine = async (value: unknown) => {
      const line = subscriptionLine(value, dependencies);
      const result = await importSubscription(dependencies, { queue, ...line }, { replace });
      if (result.kind === 'conflict') throw subscriberTaken(result.subscriptionId);
      note(caller, queue, result);
      await askIfOwed(dependencies, subscriptionAfter(result), publicUrl);
      return result.kind;
    };
    return context.json(await sumOf(await importLines(context.req), importLine));
  });

  const note = (caller: Caller, queue: string, result: ImportResult): void => {
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
