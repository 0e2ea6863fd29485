import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import { subscriptionLineOf } from '../../../shared/messages/subscription-view.ts';
import { exportedPage, importSubscription } from '../../../shared/pipeline/transfer-subscriptions.ts';
import type { ImportResult } from '../../../shared/pipeline/transfer-subscriptions.ts';
import { subscriptionDifference, subscriptionDigest } from '../audit-digest.ts';
import type { Caller } from '../audit.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../error-answers.ts';
import { flag } from '../flag.ts';
import { importLines, sumOf } from '../import-request.ts';
import { nextLinks, pageFields } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { MAX_REQUEST_BYTES, parsed } from '../request-json.ts';
import { subscriberTaken } from '../subscription-answers.ts';
import { subscriptionLine } from '../subscription-request.ts';

export const exportQuery = z.object({ withCredentials: flag, marker: pageFields.marker });
export const importQuery = z.object({ replace: flag });

/** Subscriptions as JSON lines, out of one queue and into another. */
export const addTransferRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { registry, audit } = dependencies;

  api.get('/v2/queues/:queue/export', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const { withCredentials, ...request } = parsed(exportQuery, context.req.query());
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const textOf = (items: readonly Subscription[]): string =>
      items.map((item) => `${subscriptionLineOf(item, withCredentials)}\n`).join('');
    const page = await exportedPage(
      dependencies,
      { queue, ...request },
      (items) => Buffer.byteLength(textOf(items)) <= MAX_REQUEST_BYTES,
    );
    const path = `${queuePath(queue)}/export`;
    const links = nextLinks(path, page, withCredentials ? { withCredentials: 'true' } : {});
    return context.body(textOf(page.items), 200, {
      'content-type': 'application/jsonl',
      ...(links[0] && { link: `<${links[0].href}>; rel="next"` }),
    });
  });

  api.post('/v2/queues/:queue/import', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const { replace } = parsed(importQuery, context.req.query());
    const { caller, publicUrl } = context.env;
    const importLine = async (value: unknown) => {
      const line = subscriptionLine(value, dependencies);
      const result = await importSubscription(dependencies, { queue, ...line }, { replace, publicUrl });
      if (result.kind === 'conflict') throw subscriberTaken(result.subscriptionId);
      note(caller, queue, result);
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
};
