import { isJsonObject, jsonOrUndefined } from '../../../shared/domain/json.ts';
import { TENANT_OPTIONS } from '../../../shared/domain/portal/limits.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Answer, ApiRequest } from '../route.ts';
import { checkRequest } from './check-request.ts';
import type { Admission } from './session.ts';

/** The answer to an admitted session. @throws RefusedRequest */
export async function answerSession(
  context: ApiDependencies,
  request: ApiRequest,
  {
    admission,
    answerAdmitted,
  }: { admission: Admission; answerAdmitted: (request: ApiRequest) => Promise<Answer> },
): Promise<Answer> {
  return checkAnswer(await answerAdmitted(await checkRequest(context, request, admission)), admission);
}

type Item = Record<string, unknown>;

/** The answer of a route as a session gets it: without what only operators see. */
function checkAnswer(answer: Answer, admission: Admission): Answer {
  const { status = 200, body } = answer;
  const value: unknown = status < 300 && body !== undefined ? jsonOrUndefined(body) : undefined;
  return isJsonObject(value) ? { ...answer, body: JSON.stringify(redact(value, admission)) } : answer;
}

/** Every answer of a portal route has what is redacted in these fields, or in itself. */
const NESTED: ReadonlySet<string> = new Set(['subscriptions', 'deliveries', 'delivery', 'event_types']);

function redact(answer: Item, admission: Admission): Item {
  return Object.fromEntries(
    Object.entries(redactItem(answer, admission)).map(([name, value]) => [
      name,
      NESTED.has(name) ? redactNested(value, admission) : value,
    ]),
  );
}

function redactNested(value: unknown, admission: Admission): unknown {
  if (Array.isArray(value)) return value.filter(isJsonObject).map((item) => redactItem(item, admission));
  return isJsonObject(value) ? redactItem(value, admission) : undefined;
}

const SHOWN_OPTIONS = [...TENANT_OPTIONS, '_retry_policy'];

/**
 * `secret`: of a new endpoint. `options`: of an endpoint. `attempts`, `lateResults`: of a delivery. `queues`: of an event
 * type, which names other tenants.
 */
function redactItem(
  { secret, options, attempts, lateResults, queues: _queues, ...item }: Item,
  admission: Admission,
): Item {
  const { capabilities } = admission.session;
  // A test and a retry answer with the delivery, too.
  const seesBodies = admission.portal.responseBodies && capabilities.includes('deliveries');
  const withoutBodies = (made: unknown) =>
    seesBodies || !Array.isArray(made) ? made : made.map(withoutSnippet);
  return {
    ...item,
    ...(secret !== undefined && capabilities.includes('secrets') && { secret }),
    ...(isJsonObject(options) && {
      options: Object.fromEntries(Object.entries(options).filter(([name]) => SHOWN_OPTIONS.includes(name))),
    }),
    ...(attempts !== undefined && { attempts: withoutBodies(attempts) }),
    ...(lateResults !== undefined && { lateResults: withoutBodies(lateResults) }),
  };
}

function withoutSnippet(attempt: unknown): unknown {
  if (!isJsonObject(attempt)) return attempt;
  const { snippet: _, ...shown } = attempt;
  return shown;
}
