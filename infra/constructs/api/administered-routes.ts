import { isQueueName, QUEUE_NAME_RULE } from '../../../shared/domain/message/message.ts';
import { SettingsError, shownValue } from '../../settings.ts';

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
 * @throws SettingsError for an unknown option, and for what is no name of a queue
 */
export function administeredRoutes(options: AdministerOptions): PermittedRoute[] {
  requireOptions(options);
  const { queues, exportCredentials } = options;
  const credentials = (queue: string) =>
    exportCredentials === true ? [{ method: 'POST', path: `/v2/credentials/${queue}` }] : [];
  if (queues === undefined)
    return [
      ...['/', '/v2', '/v2/*'].map((path) => ({ method: 'GET', path })),
      ...CHANGES.map((method) => ({ method, path: '/v2/queues/*' })),
      ...credentials('*'),
    ];
  return queues.flatMap((queue) => [
    ...['GET', ...CHANGES].flatMap((method) => [
      { method, path: `/v2/queues/${queue}` },
      { method, path: `/v2/queues/${queue}/*` },
    ]),
    ...credentials(queue),
  ]);
}

/** Checks without trust in the types: in JavaScript, a misspelt `queues` would otherwise allow all queues. */
function requireOptions(options: AdministerOptions): void {
  const problems = Object.keys(options)
    .filter((name) => !OPTIONS.includes(name))
    .map((name) => `${name} is not an option of grantAdminister. The options are: ${OPTIONS.join(', ')}`);
  if (options.queues !== undefined) problems.push(...problemsOf(options.queues));
  if (problems.length > 0) throw new SettingsError(problems);
}

const OPTIONS = ['queues', 'exportCredentials'];

function problemsOf(queues: unknown): string[] {
  if (!Array.isArray(queues) || queues.length === 0)
    return [`queues (${shownValue(queues)}) must have a name; leave it out for all queues`];
  return queues
    .filter((queue) => typeof queue !== 'string' || !isQueueName(queue))
    .map((queue) => `queues (${shownValue(queue)}) must be names of queues: ${QUEUE_NAME_RULE}`);
}
