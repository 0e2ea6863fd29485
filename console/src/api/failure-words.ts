import { ApiRefusal } from '../../../cli/api/api-refusal.ts';
import { UnknownAnswer } from '../../../cli/api/parsed-answer.ts';
import { ConsoleGone } from './page-client.ts';

/** A failure for people: what is wrong, and what can be done. */
export type FailureWords = { title: string; detail: string; advice?: string };

const START_AGAIN =
  'Start it again with “npm run -s posthaste -- console”, and open the link that it prints.';
const BY_ITSELF = 'This page looks again by itself.';

/** Of those that come from between this page and the API, not from the API itself. */
const KNOWN: Readonly<Record<string, Omit<FailureWords, 'detail'>>> = {
  token_refused: { title: 'This page belongs to a console that has ended', advice: START_AGAIN },
  unreachable: { title: 'The API cannot be reached', advice: BY_ITSELF },
  timeout: { title: 'The API takes too long to answer', advice: BY_ITSELF },
  unavailable: { title: 'The API does not answer', advice: BY_ITSELF },
  too_many_requests: { title: 'The API is busy', advice: BY_ITSELF },
  credentials_expired: {
    title: 'Your credentials have expired',
    advice: `Renew them where you started the console, for instance by “aws sso login”. ${BY_ITSELF}`,
  },
  no_credentials: {
    title: 'There are no AWS credentials',
    advice: 'Give them to the console as you would to the AWS CLI, and start it again.',
  },
  no_deployment: {
    title: 'There is no deployment here',
    advice: 'Deploy one, or try it on this machine with “npm start”. The policy designer works without one.',
  },
  unauthorized: {
    title: 'The API wants a token',
    advice: 'Set POSTHASTE_TOKEN to one that its issuer has given you, and start the console again.',
  },
  forbidden: {
    title: 'You may not do this',
    advice: 'Your credentials need execute-api:Invoke on this part of the API.',
  },
  not_found: { title: 'There is no such thing here' },
  conflict: { title: 'That is not possible now' },
  invalid_request: { title: 'The API refuses this' },
  invalid_retry_policy: { title: 'The API refuses this policy' },
  invalid_json: { title: 'That is not JSON' },
  too_large: { title: 'That is too large' },
};

export function failureWords(failure: unknown): FailureWords {
  if (failure instanceof ApiRefusal) return refusalWords(failure);
  if (failure instanceof ConsoleGone)
    return {
      title: 'The console has ended',
      detail: 'The command that serves this page does not answer.',
      advice: START_AGAIN,
    };
  if (failure instanceof UnknownAnswer)
    return {
      title: 'The deployment speaks another version',
      detail: `This console does not understand a part of its answer (${failure.field}).`,
      advice: 'Use the command of the version that is deployed, or deploy the version of the command.',
    };
  return {
    title: 'Something went wrong in this page',
    detail: failure instanceof Error ? failure.message : String(failure),
  };
}

function refusalWords({ code = '', status, message, fields }: ApiRefusal): FailureWords {
  const detail =
    fields.length > 0 ? fields.map((fault) => `${fault.field} ${fault.message}`).join('; ') : message;
  return wordsFor({ code, message: detail }, `The API answers ${status}`);
}

/** `otherwise`: the title where the code says nothing here. */
export function wordsFor(
  { code, message }: { code: string; message: string },
  otherwise = 'Something is wrong',
): FailureWords {
  const known = Object.hasOwn(KNOWN, code) ? KNOWN[code] : undefined;
  return { ...(known ?? { title: otherwise }), detail: sentence(message) };
}

function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Whether looking again may help: not where the page itself is what is refused. */
export function mayPass(failure: unknown): boolean {
  return !(
    failure instanceof ApiRefusal &&
    (failure.code === 'token_refused' || failure.code === 'not_found')
  );
}
