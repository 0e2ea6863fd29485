import type * as z from 'zod';
import { type ApiClient, type ApiRequest, callBy, clientBy } from '../../../api-client/api-client.ts';
import type { ApiRefusal } from '../../../api-client/refusal.ts';
import { limitConcurrency } from '../../../shared/adapters/in-parallel.ts';
import type { SessionToken } from '../session-token.ts';
import { MAX_CONCURRENT, sendBy, TIMEOUT_MS } from './page-requests.ts';

export type ConsoleClient = ApiClient & {
  /** Calls the command itself, which reads what the API does not show. The path is relative to /api-local. */
  local: <Answer>(path: string, schema: z.ZodType<Answer>, rest?: Partial<ApiRequest>) => Promise<Answer>;
};

/**
 * Calls the administration API through the command that serves this page; the command signs the requests. `onEnd`: the
 * command does not take the token any more.
 */
export function consoleClient(token: SessionToken, onEnd: (refusal: ApiRefusal) => void): ConsoleClient {
  const slots = limitConcurrency(MAX_CONCURRENT);
  const sendTo = (prefix: string) =>
    sendBy(
      {
        urlFor: ({ path, search }) => prefix + path + search,
        headers: (): Record<string, string> =>
          token.value === undefined ? {} : { authorization: `Bearer ${token.value}` },
        onRefusal: (refusal) => {
          if (refusal.code !== 'token_refused') return;
          token.forget();
          onEnd(refusal);
        },
      },
      slots,
    );
  return {
    ...clientBy('the API', sendTo('/api')),
    local: (path, schema, rest) =>
      callBy(sendTo('/api-local'), { method: 'GET', path, search: '', ...rest }, schema),
  };
}

/** Whether the command that serves this page takes the token. */
export async function isAccepted(token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return fetch('/api-local/info', { method: 'HEAD', headers, cache: 'no-store', signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}
