import * as z from 'zod';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import { deleteQueue } from '../subscriptions/change.ts';
import { fittingPage } from '../answer-size.ts';
import { queueDifference, queueDigest } from '../audit-digest.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { flag } from '../fields.ts';
import { linksSchema, nextLinks, pageQuery } from '../paging.ts';
import { queueName, queuePath, QUEUES } from '../paths.ts';
import { queueFields, queueMetadata, queueMetadataSchema } from './metadata.ts';
import { patched, queuePatch } from './patch.ts';
import { parsed, readJson, readOptionalJson } from '../request-json.ts';

export function addQueueRoutes(api: Api, dependencies: ApiDependencies): void {
  const { registry, clock, defaultRetryPolicy, audit } = dependencies;

  api.get(QUEUES, async (context) => {
    const { detailed, ...request } = parsed(queueListQuery, context.req.query());
    const page = await fittingPage(
      request,
      (asked) => registry.listQueues(asked),
      (queue) => listed(queue, detailed),
    );
    const links = nextLinks(QUEUES, page, { limit: request.limit, ...(detailed && { detailed: 'true' }) });
    const answer: z.input<typeof queueListSchema> = {
      queues: [...page.items],
      links: [...links],
    };
    return context.json(answer);
  });

  api.put('/v2/queues/:queue', async (context) => {
    const name = queueName(context.req.param('queue'));
    const fields = queueFields((await readOptionalJson(context.req)).value, defaultRetryPolicy);
    const queue: Queue = { name, createdAt: clock.now(), ...fields };
    const result = await registry.putQueue(queue);
    audit(context.env.caller, {
      queue: name,
      ...(result.kind === 'created'
        ? { change: 'queue_created', after: queueDigest(queue) }
        : { change: 'queue_replaced', ...queueDifference(result.before, queue) }),
    });
    return context.body(null, result.kind === 'created' ? 201 : 204, { location: queuePath(name) });
  });

  api.patch('/v2/queues/:queue', async (context) => {
    const name = queueName(context.req.param('queue'));
    const patch = queuePatch((await readJson(context.req)).value);
    const result = await registry.changeQueue(name, ({ name: same, createdAt, metadata }) => ({
      name: same,
      createdAt,
      ...queueFields(patched(metadata, patch, queueMetadata), defaultRetryPolicy),
    }));
    if (result.kind === 'missing') throw notFound('such queue');
    if (result.kind === 'left') return context.json(result.current.metadata);
    const { before, after } = result;
    audit(context.env.caller, { change: 'queue_changed', queue: name, ...queueDifference(before, after) });
    return context.json(after.metadata);
  });

  api.get('/v2/queues/:queue', async (context) => {
    const queue = await registry.findQueue(queueName(context.req.param('queue')));
    if (queue === undefined) throw notFound('such queue');
    return context.json(queue.metadata);
  });

  api.delete('/v2/queues/:queue', async (context) => {
    const name = queueName(context.req.param('queue'));
    await deleteQueue(dependencies, name);
    audit(context.env.caller, { change: 'queue_deleted', queue: name });
    return context.body(null, 204);
  });
}

export const queueListQuery = pageQuery.extend({ detailed: flag });

export const queueListSchema = z.object({
  queues: z.array(
    z.object({ name: z.string(), href: z.string(), metadata: queueMetadataSchema.exactOptional() }),
  ),
  links: linksSchema,
});

function listed({ name, metadata }: Queue, detailed: boolean) {
  return {
    name,
    href: queuePath(name),
    ...(detailed && { metadata }),
  };
}
