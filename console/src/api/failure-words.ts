import { ApiRefusal, isNotFound, UnknownAnswer } from '../../../api-client/refusal.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { NoResponse } from './page-requests.ts';

/** What a page shows for a failure: what is wrong, and what to do. */
export type FailureWords = { title: string; detail: string; advice?: string };

const START_AGAIN = 'Start the console again in its terminal, and open the link that it prints.';

/** For values that are polled, and for actions, which may have been done although the answer was lost. */
export const RELOADS =
  'This page reloads what it shows automatically. An action is not repeated: look whether it took effect before you try again.';

/** Titles and advice by error code. */
export type CodeWords = Readonly<Record<string, Omit<FailureWords, 'detail'>>>;

/** Common codes of the API. */
export const COMMON_WORDS: CodeWords = {
  not_found: { title: 'Not found' },
  conflict: { title: 'Not possible in the current state' },
  invalid_request: { title: 'The API rejected the request' },
  invalid_retry_policy: { title: 'The API rejected the policy' },
  invalid_json: { title: 'Invalid JSON' },
  too_large: { title: 'The request is too large' },
  too_many_requests: { title: 'Too many requests', advice: RELOADS },
};

/** With those of the console command. */
const CONSOLE_WORDS: CodeWords = {
  ...COMMON_WORDS,
  token_refused: { title: 'The session of this page has ended', advice: START_AGAIN },
  unreachable: { title: 'No response from the API', advice: RELOADS },
  timeout: { title: 'The API did not respond in time', advice: RELOADS },
  unavailable: { title: 'The API is unavailable', advice: RELOADS },
  internal: { title: 'The API failed', advice: RELOADS },
  credentials_expired: {
    title: 'Your credentials have expired',
    advice: `Renew them in the terminal where you started the console, for example with “aws sso login”. ${RELOADS}`,
  },
  no_credentials: {
    title: 'No AWS credentials found',
    advice: 'Configure them as for the AWS CLI, then start the console again.',
  },
  no_deployment: {
    title: 'No deployment found',
    advice: 'Deploy one, or start one on this machine. The policy designer works without a deployment.',
  },
  deployment_not_named: {
    title: 'The SQS queues of this API are not known',
    advice: 'Start the console again with --deployment and the name of the deployment.',
  },
  unauthorized: {
    title: 'The API requires a token',
    advice: 'Set POSTHASTE_TOKEN to a token from its issuer, then start the console again.',
  },
  forbidden: {
    title: 'Permission denied',
    advice: 'Your credentials need the permission execute-api:Invoke for this route of the API.',
  },
  sqs_forbidden: {
    title: 'Permission denied',
    advice: 'docs/operations.md, "Redrive", lists the SQS permissions that dead letters need.',
  },
};

export function failureWords(failure: unknown): FailureWords {
  if (failure instanceof ApiRefusal) return refusalWords(failure);
  if (failure instanceof NoResponse)
    return {
      title: 'The console has stopped',
      detail: 'The command that serves this page does not respond.',
      advice: START_AGAIN,
    };
  if (failure instanceof UnknownAnswer)
    return {
      title: 'The deployment runs a different version',
      detail: `The console cannot read a field of its response (${failure.field}).`,
      advice: 'Use the command of the deployed version, or deploy the version of this command.',
    };
  return {
    title: 'Something went wrong in this page',
    detail: failure instanceof Error ? failure.message : String(failure),
  };
}

export function refusalWords(
  { code = '', status, message, fields }: Pick<ApiRefusal, 'code' | 'status' | 'message' | 'fields'>,
  byCode = CONSOLE_WORDS,
): FailureWords {
  const detail =
    fields.length > 0 ? fields.map((fault) => `${fault.field} ${fault.message}`).join('; ') : message;
  return wordsFor({ code, message: detail }, `The API responded with ${status}`, byCode);
}

/** `otherwise`: the title for a code that is not in the table. */
export function wordsFor(
  { code, message }: { code: string; message: string },
  otherwise = 'Something is wrong',
  byCode = CONSOLE_WORDS,
): FailureWords {
  const known = Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  return { ...(known ?? { title: otherwise }), detail: sentence(message) };
}

function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Whether a retry can succeed: not after a refused session token, nor for something that does not exist. */
export function isTransient(failure: unknown): boolean {
  const isRefusedToken = failure instanceof ApiRefusal && failure.code === 'token_refused';
  return !isRefusedToken && !isNotFound(failure);
}

/** Whether each rejected field is one of `names`, so that its error is shown beside it. */
export function areMarked(fields: readonly FieldError[], names: readonly string[]): boolean {
  return (
    fields.length > 0 && fields.every(({ field }) => findField(stripOptions(field), names) !== undefined)
  );
}

/** Errors by the name of a form field. */
export type Faults = ReadonlyMap<string, string>;

/** The fields that the API rejected. `failure`: of an action, if it failed. */
export function rejectedFields(action: { state: string; failure?: unknown }): readonly FieldError[] {
  return action.failure instanceof ApiRefusal ? action.failure.fields : [];
}

/**
 * Errors of the API by form field. A path below a field, such as `options.filter.total[0]`, belongs to it and begins
 * the error. `otherwise`: the form field for all other paths.
 */
export function faultsByField(
  fields: readonly FieldError[],
  names: readonly string[],
  otherwise?: string,
): Faults {
  const faults = new Map<string, string>();
  for (const { field, message } of fields) {
    const path = stripOptions(field);
    const name = findField(path, names);
    const key = name ?? otherwise;
    if (key === undefined) continue;
    const below = name === undefined ? path : path.slice(name.length).replace(/^\./, '');
    const text = below === '' ? message : `${below}: ${message}`;
    faults.set(key, faults.has(key) ? `${faults.get(key) ?? ''}; ${text}` : text);
  }
  return faults;
}

function stripOptions(field: string): string {
  return field.replace(/^options\./, '');
}

/** The form field that a path names, or is below of. */
function findField(path: string, names: readonly string[]): string | undefined {
  return names.find(
    (one) => path === one || (/^[.[]/.test(path.slice(one.length, one.length + 1)) && path.startsWith(one)),
  );
}
