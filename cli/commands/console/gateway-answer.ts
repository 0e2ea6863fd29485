import * as z from 'zod';
import type { ConsoleFailureCode } from '../../../shared/wire/views/console.ts';
import { adviceFor, ApiRefusal, jsonOrUndefined } from '../../../api-client/refusal.ts';
import { refusalFromFailure } from '../../loopback/signed-request.ts';
import type { Refusal } from '../../loopback/refusal.ts';

/** The body of errors that API Gateway itself returns. */
const gatewayMessage = z.strictObject({ message: z.string().nullable() });

/**
 * Returns the API's responses unchanged; turns errors of API Gateway or another intermediary into the API's error
 * format.
 */
export async function explainRefusal(request: string, answer: Response): Promise<Response | Refusal> {
  const { status, headers } = answer;
  if (status < 400) return answer;
  const text = await answer.text().catch(refusalFromFailure);
  if (typeof text !== 'string') return text;
  const body = jsonOrUndefined(text);
  if (body !== undefined && !gatewayMessage.safeParse(body).success) {
    return new Response(text, { status, headers });
  }
  return meaningOf(new ApiRefusal(request, status, text), headers);
}

/** Detects expiry by the text: authorisers report it in WWW-Authenticate (RFC 6750 §3), IAM in its message. */
function meaningOf(refusal: ApiRefusal, headers: Headers): Refusal {
  const { status, message } = refusal;
  return /expired/i.test(`${message} ${headers.get('www-authenticate') ?? ''}`)
    ? { status, code: 'credentials_expired', message: EXPIRED }
    : { status, code: codeOf(status), message: adviceFor(refusal) ?? gatewayMessageText(refusal) };
}

function codeOf(status: number): ConsoleFailureCode {
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'too_many_requests';
  return status < 500 ? 'forbidden' : 'unavailable';
}

const EXPIRED = 'Your credentials or token have expired. Renew them, then restart the console.';

function gatewayMessageText({ status, message }: ApiRefusal): string {
  return `API Gateway returned ${status}${message === '' ? '' : `: ${message}`}`;
}
