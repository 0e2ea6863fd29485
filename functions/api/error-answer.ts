import { toError } from '../../shared/domain/errors.ts';
import type { Caller } from './audit.ts';
import type { CommonPorts } from './dependencies.ts';
import { errorBody, internalError, type RefusedRequest, statusOfCode, toRefusal } from './errors.ts';
import { type Answer, jsonAnswer } from './route.ts';

export function errorAnswer(refused: RefusedRequest, headers: Record<string, string> = {}): Answer {
  // RFC 9110 §15.5.2 requires it.
  const challenge = refused.code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {};
  return jsonAnswer(errorBody(refused), statusOfCode[refused.code], { ...challenge, ...headers });
}

/** The response to a request that failed. An internal error is reported with these ids. */
export function toErrorAnswer(
  error: unknown,
  ids: Caller & Readonly<Record<string, string>>,
  reportFault: CommonPorts['reportFault'],
): Answer {
  const refused = toRefusal(error);
  if (refused !== undefined) return errorAnswer(refused);
  reportFault(toError(error), ids);
  return errorAnswer(internalError(ids.requestId));
}
