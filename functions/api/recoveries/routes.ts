import * as z from 'zod';
import { RECOVERABLE, type RecoverySelection } from '../../../shared/domain/recovery/recovery.ts';
import { recoveryView, recoveryViewSchema } from '../../../shared/wire/views/recovery.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, type RefusedRequest } from '../errors.ts';
import { linksSchema, nextLinks, pageRequest } from '../paging.ts';
import { isSubscriptionId, queueName, queuePath } from '../paths.ts';
import { parsed, readJson } from '../request-json.ts';
import { isWindow, NO_WINDOW, timeField } from '../window.ts';
import { startRecovery, type StartResult, stopRecovery } from './recoveries.ts';

const RECOVERIES = '/v2/queues/:queue/recoveries';
const RECOVERY = `${RECOVERIES}/:recovery` as const;

export function addRecoveryRoutes(api: Api, dependencies: ApiDependencies): void {
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
}

export const recoveryPageSchema = z.object({
  recoveries: z.array(recoveryViewSchema),
  links: linksSchema,
});

function recoveriesPath(queue: string): string {
  return `${queuePath(queue)}/recoveries`;
}

/** No other text was ever given out as the id of a recovery; what it names is not there. */
function isRecoveryId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,80}$/.test(id);
}

function refusalOf(result: Exclude<StartResult, { kind: 'started' }>): RefusedRequest {
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
}

export const recoveryRequestSchema = z.strictObject({
  since: timeField,
  until: timeField,
  subscription: z.string().refine(isSubscriptionId, 'is no id of a subscription').exactOptional(),
  status: z.enum(RECOVERABLE, `must be one of ${RECOVERABLE.join(', ')}`).exactOptional(),
});

/** @throws RefusedRequest */
function recoverySelection(queue: string, value: unknown): RecoverySelection {
  const { subscription, ...selection } = parsed(recoveryRequestSchema, value);
  if (!isWindow(selection)) throw invalidFields([{ field: 'until', message: NO_WINDOW.error }]);
  return { queue, ...selection, ...(subscription !== undefined && { subscriptionId: subscription }) };
}
