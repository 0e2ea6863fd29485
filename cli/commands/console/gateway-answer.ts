import * as z from 'zod';
import type { ConsoleFailureCode } from '../../../shared/wire/views/console.ts';
import { adviceFor, ApiRefusal, jsonOrUndefined } from '../../api/api-refusal.ts';
import { noAnswer } from '../../loopback/forward.ts';
import type { Refusal } from '../../loopback/refusal.ts';

/** What API Gateway, which stands before the API, says of itself. */
const gatewayMessage = z.strictObject({ message: z.string().nullable() });

/** The API's answer as it is, and one of API Gateway's own, or of anything else on the way, as what it means. */
export async function explained(request: string, answer: Response): Promise<Response | Refusal> {
  const { status, headers } = answer;
  if (status < 400) return answer;
  const text = await answer.text().catch(noAnswer);
  if (typeof text !== 'string') return text;
  const body = jsonOrUndefined(text);
  if (body !== undefined && !gatewayMessage.safeParse(body).success) {
    return new Response(text, { status, headers });
  }
  return meaningOf(new ApiRefusal(request, status, text), headers);
}

/** Of a token that authorisers call expired (RFC 6750 §3), or a session that IAM does. */
function meaningOf(refusal: ApiRefusal, headers: Headers): Refusal {
  const { status, message } = refusal;
  return /expired/i.test(`${message} ${headers.get('www-authenticate') ?? ''}`)
    ? { status, code: 'credentials_expired', message: EXPIRED }
    : { status, code: codeOf(status), message: adviceFor(refusal) ?? said(refusal) };
}

function codeOf(status: number): ConsoleFailureCode {
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'too_many_requests';
  return status < 500 ? 'forbidden' : 'unavailable';
}

const EXPIRED = 'Your credentials, or your token, have expired. Renew them, and start the console again.';

function said({ status, message }: ApiRefusal): string {
  return `API Gateway answers ${status}${message === '' ? '' : `: ${message}`}`;
}
