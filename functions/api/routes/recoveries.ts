import * as z from 'zod';
import { recoveryView, recoveryViewSchema } from '../../../shared/messages/recovery-view.ts';
import {
  startRecovery,
  stopRecovery,
  type StartResult,
} from '../../../shared/pipeline/administer-recoveries.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, type RefusedRequest } from '../error-answers.ts';
import { linksSchema, nextLinks, pageRequest } from '../paging.ts';
import { queueName, queuePath } from '../paths.ts';
import { recoverySelection } from '../recovery-request.ts';
import { readJson } from '../request-json.ts';

const RECOVERIES = '/v2/queues/:queue/recoveries';
const RECOVERY = `${RECOVERIES}/:recovery` as const;

export const addRecoveryRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { registry, recoveries, audit } = dependencies;

  api.post(RECOVERIES, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const selection = recoverySelection(queue, (await readJson(context.req)).value);
    const result = await startRecovery(dependencies, selection);
    if (result.kind !== 'started') throw refusalOf(result);
    const view = recoveryView(result.recovery);
    const { id, since, until, subscription, status } = view;
    audit(context.env.caller, {
      change: 'recovery_started',
      queue,
      recoveryId: id,
      selection: {
        since,
        until,
        ...(subscription !== undefined && { subscription }),
        ...(status !== undefined && { status }),
      },
    });
    return context.json(view, 202, { location: `${recoveriesPath(queue)}/${id}` });
  });

  api.get(RECOVERIES, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const request = pageRequest(context.req.query());
    if ((await registry.findQueue(queue)) === undefined) throw notFound('such queue');
    const page = await recoveries.list(queue, request);
    const answer: z.input<typeof recoveryPageSchema> = {
      recoveries: page.items.map(recoveryView),
      links: [...nextLinks(recoveriesPath(queue), page, { limit: request.limit })],
    };
    return context.json(answer);
  });

  api.get(RECOVERY, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const id = context.req.param('recovery');
    const found = isRecoveryId(id) ? await recoveries.find(queue, id) : undefined;
    if (found === undefined) throw notFound('such recovery');
    return context.json(recoveryView(found));
  });

  api.delete(RECOVERY, async (context) => {
    const queue = queueName(context.req.param('queue'));
    const id = context.req.param('recovery');
    const result = isRecoveryId(id) ? await stopRecovery(dependencies, queue, id) : undefined;
    if (result === undefined) throw notFound('such recovery');
    if (result === 'stopped') {
      audit(context.env.caller, { change: 'recovery_stopped', queue, recoveryId: id });
    }
    return context.body(null, 204);
  });
};

export const recoveryPageSchema = z.object({
  recoveries: z.array(recoveryViewSchema),
  links: linksSchema,
});

const recoveriesPath = (queue: string): string => `${queuePath(queue)}/recoveries`;

/** No other text was ever given out as the id of a recovery; what it names is not there. */
const isRecoveryId = (id: string): boolean => /^[A-Za-z0-9_-]{1,80}$/.test(id);

const refusalOf = (result: Exclude<StartResult, { kind: 'started' }>): RefusedRequest => {
  switch (result.kind) {
    case 'no_such_queue':
      return notFound('such queue');
    case 'window_empty':
      return invalidFields([{ field: 'since', message: 'is in the future' }]);
    case 'window_too_old': {
      const oldest = new Date(result.olderThan).toISOString();
      return invalidFields([
        { field: 'since', message: `must not be before ${oldest}: records are not kept longer` },
      ]);
    }
  }
};
