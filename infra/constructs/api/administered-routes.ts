import { isQueueName, QUEUE_NAME_RULE } from '../../../shared/domain/message/message.ts';
import { SettingsError } from '../../settings.ts';

export interface AdministerOptions {
  /** The queues that may be managed. @default all queues, and the routes about no single queue */
  readonly queues?: readonly string[];
  /** Whether the credentials in subscribers' headers may be exported, too. @default false */
  readonly exportCredentials?: boolean;
}

/** A route, or all below it, as a policy of IAM names them. */
type PermittedRoute = { readonly method: string; readonly path: string };

const CHANGES = ['PUT', 'POST', 'PATCH', 'DELETE'];

/**
 * Routes for a policy of IAM. Each method is named, because `*` would match slashes (docs/api.md#calling-it).
 * @throws SettingsError for what is no name of a queue
 */
export function administeredRoutes({ queues, exportCredentials }: AdministerOptions): PermittedRoute[] {
  const credentials = (queue: string) =>
    exportCredentials === true ? [{ method: 'POST', path: `/v2/credentials/${queue}` }] : [];
  if (queues === undefined)
    return [
      ...['/', '/v2', '/v2/*'].map((path) => ({ method: 'GET', path })),
      ...CHANGES.map((method) => ({ method, path: '/v2/queues/*' })),
      ...credentials('*'),
    ];
  requireQueueNames(queues);
  return queues.flatMap((queue) => [
    ...['GET', ...CHANGES].flatMap((method) => [
      { method, path: `/v2/queues/${queue}` },
      { method, path: `/v2/queues/${queue}/*` },
    ]),
    ...credentials(queue),
  ]);
}

function requireQueueNames(queues: readonly string[]): void {
  const wrong = queues.filter((queue) => !isQueueName(queue));
  const problems = wrong.map((queue) => `queues (${queue}) must be names of queues: ${QUEUE_NAME_RULE}`);
  if (queues.length === 0) problems.push('queues ([]) must have a name; leave it out for all queues');
  if (problems.length > 0) throw new SettingsError(problems);
}
