import { type ApiClient, clientBy } from '../../api-client/api-client.ts';
import { ApiRefusal } from '../../api-client/refusal.ts';
import {
  type CodeWords,
  COMMON_WORDS,
  type FailureWords,
  RELOADS,
  refusalWords,
} from '../../console/src/api/failure-words.ts';
import { MAX_CONCURRENT, NoResponse, sendBy } from '../../console/src/api/page-requests.ts';
import { limitConcurrency } from '../../shared/adapters/in-parallel.ts';
import { SESSION_HEADER } from '../../shared/wire/views/portal.ts';
import type { OpenSession } from './session.ts';

/** Calls the routes of the queue through the portal, which alone decides the queue. `onEnd`: the session has ended. */
export function portalClient({ session, secret }: OpenSession, onEnd: () => void): ApiClient {
  const ofQueue = `/v2/queues/${encodeURIComponent(session.queue)}/`;
  return clientBy(
    'the portal',
    sendBy(
      {
        urlFor: ({ path, search }) => {
          if (!path.startsWith(ofQueue))
            throw new RangeError('a request outside of the queue of the session');
          return `api/${path.slice(ofQueue.length)}${search}`;
        },
        headers: () => ({ [SESSION_HEADER]: secret }),
        onRefusal: ({ status }) => {
          if (status === 401) onEnd();
        },
      },
      limitConcurrency(MAX_CONCURRENT),
    ),
  );
}

const WORDS: CodeWords = {
  ...COMMON_WORDS,
  invalid_request: { title: 'Some values are not accepted' },
  forbidden: { title: 'Your access does not include this', advice: 'Ask for a link that includes it.' },
  unavailable: { title: 'The service is unavailable', advice: RELOADS },
};

/** What customers see for a failure. They know nothing of the deployment behind the page. */
export function portalWords(failure: unknown): FailureWords | undefined {
  if (failure instanceof ApiRefusal) {
    const { status, code, message, fields } = failure;
    // The page says once that the session has ended.
    if (status === 401) return undefined;
    return refusalWords({ status, code: codeFor(status) ?? code, message, fields }, WORDS);
  }
  if (failure instanceof NoResponse)
    return { title: 'No response', detail: 'The service cannot be reached.', advice: RELOADS };
  return {
    title: 'Something went wrong in this page',
    detail: failure instanceof Error ? failure.message : String(failure),
    advice: 'Reload the page.',
  };
}

/** Answers of the API and of what is in front of it. */
function codeFor(status: number): string | undefined {
  if (status === 429) return 'too_many_requests';
  return status >= 500 ? 'unavailable' : undefined;
}
