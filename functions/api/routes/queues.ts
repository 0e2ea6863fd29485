import * as z from 'zod';
import type { Queue } from '../../../shared/domain/subscription.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound } from '../error-answers.ts';
import { nextLinks, pageRequest } from '../paging.ts';
import { queueName, queuePath, QUEUES } from '../paths.ts';
import { queueMetadata } from '../queue-metadata.ts';
import { parsed, readJson } from '../request-json.ts';
import { retryPolicyAt } from '../retry-policy-field.ts';

export const addQueueRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { registry, clock, defaultRetryPolicy, audit } = dependencies;

  api.get(QUEUES, async (context) => {
    const query = context.req.query();
    const request = pageRequest(query);
    const { detailed } = parsed(listQuery, query);
    const page = await registry.listQueues(request);
    return context.json({
      queues: page.items.map((queue) => listed(queue, detailed)),
      links: nextLinks(QUEUES, page, { limit: request.limit, ...(detailed && { detailed: 'true' }) }),
    });
  });

  api.put('/v2/queues/:queue', async (context) => {
    const name = queueName(context.req.param('queue'));
    const metadata = await metadataOf(context.req);
    const given = metadata['_retry_policy'];
    const policy =
      given === undefined ? undefined : retryPolicyAt('_retry_policy', given, defaultRetryPolicy);
    const createdAt = clock.now();
    const result = await registry.putQueue({
      name,
      metadata,
      createdAt,
      ...(policy && { retryPolicy: policy }),
    });
    audit(context.env.caller, { change: `queue_${result}`, queue: name });
    return context.body(null, result === 'created' ? 201 : 204, { location: queuePath(name) });
  });

  api.get('/v2/queues/:queue', async (context) => {
    const queue = await registry.findQueue(queueName(context.req.param('queue')));
    if (queue === undefined) throw notFound('such queue');
    return context.json(queue.metadata);
  });

  api.delete('/v2/queues/:queue', async (context) => {
    const name = queueName(context.req.param('queue'));
    await registry.deleteQueue(name);
    audit(context.env.caller, { change: 'queue_deleted', queue: name });
    return context.body(null, 204);
  });
};

const listQuery = z.object({
  detailed: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .transform((text) => text === 'true'),
});

const listed = ({ name, metadata }: Queue, detailed: boolean) => ({
  name,
  href: queuePath(name),
  ...(detailed && { metadata }),
});

/** Zaqar's clients leave the body out where they have no metadata to give. */
const metadataOf = async (request: {
  arrayBuffer(): Promise<ArrayBuffer>;
}): Promise<Record<string, unknown>> => {
  if ((await request.arrayBuffer()).byteLength === 0) return {};
  return queueMetadata((await readJson(request)).value);
};
