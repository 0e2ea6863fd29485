import type { ConnectionFault, DeliveryRequest, Outcome, RejectReason } from './vocabulary.ts';

/** An answer. `asks`: the value of its header `webhook-delivery`. */
type Answer = { statusCode: number; retryAfter?: string; asks?: DeliveryRequest; snippet?: string };

/** Result of a request, before it is classified. `detail` never contains an address. */
export type Reply =
  | ({ kind: 'answered' } & Answer)
  | { kind: 'unanswered'; error: ConnectionFault; detail?: string }
  | { kind: 'forbidden' };

/** What came of an attempt to send: a reply, or nothing, because there is no payload. */
export type Sent = Reply | { kind: 'unrendered'; detail: string };

/** Recorded errors where nothing was sent. */
export const ADDRESS_FORBIDDEN = 'address_forbidden' satisfies RejectReason;
export const PAYLOAD_FAILED = 'payload_failed' satisfies RejectReason;

const GONE = 410;
export const TOO_MANY_REQUESTS = 429;

/** Classifies a reply (docs/retry-policy.md#what-is-retried). `retryOnStatus`: 3xx and 4xx to retry. */
export function classifyReply(reply: Sent, retryOnStatus: readonly number[]): Outcome {
  switch (reply.kind) {
    case 'forbidden':
    case 'unrendered':
      return 'rejected';
    case 'unanswered':
      return 'failed';
    case 'answered':
      return outcomeOfAnswer(reply, retryOnStatus);
  }
}

/** A subscriber that asks for no further attempts gets none. */
function outcomeOfAnswer({ statusCode, asks }: Answer, retryOnStatus: readonly number[]): Outcome {
  const outcome = outcomeOfStatus(statusCode, retryOnStatus);
  return outcome === 'failed' && asks !== undefined ? 'rejected' : outcome;
}

function outcomeOfStatus(statusCode: number, retryOnStatus: readonly number[]): Outcome {
  if (statusCode >= 200 && statusCode <= 299) return 'delivered';
  if (statusCode >= 300 && statusCode <= 499) {
    return statusCode !== GONE && retryOnStatus.includes(statusCode) ? 'failed' : 'rejected';
  }
  return 'failed';
}

export type DisablingReason = 'gone' | 'disable_requested';

/** Why an answer disables its subscription, if it does: a 410 (RFC 9110 §15.5.11), or the subscriber asks for it. */
export function disablingReason(reply: Sent): DisablingReason | undefined {
  if (reply.kind !== 'answered') return undefined;
  if (reply.statusCode === GONE) return 'gone';
  return reply.asks === 'disable' ? 'disable_requested' : undefined;
}

/** Why the reply of a rejected attempt is final. */
export function rejectionReason(reply: Sent): RejectReason {
  if (reply.kind === 'unrendered') return PAYLOAD_FAILED;
  if (reply.kind !== 'answered') return ADDRESS_FORBIDDEN;
  const asked = reply.asks === 'abort-message' ? 'abort_requested' : undefined;
  return disablingReason(reply) ?? asked ?? `http_${reply.statusCode}`;
}

/**
 * Milliseconds to wait from `now` (since the epoch) for a Retry-After header (RFC 9110 §10.2.3): whole seconds or
 * an HTTP-date; a past date gives 0. Undefined if malformed. At most Number.MAX_SAFE_INTEGER; the caller applies
 * its cap.
 */
export function retryAfterMs(header: string, now: number): number | undefined {
  const value = header.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
  const date = httpDate(value, now);
  return date === undefined ? undefined : Math.max(0, date - now);
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const month = `(?<month>${MONTHS.join('|')})`;
const time = '(?<hours>\\d{2}):(?<minutes>\\d{2}):(?<seconds>\\d{2})';
const shortDay = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDay = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';

/**
 * The three date formats that a recipient must accept, case-sensitive (RFC 9110 §5.6.7). The weekday is redundant
 * and not checked.
 */
const FORMS = [
  new RegExp(`^${shortDay}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${longDay}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`),
  new RegExp(`^${shortDay} ${month} (?<day>\\d{2}| \\d) ${time} (?<year>\\d{4})$`),
];

function httpDate(value: string, now: number): number | undefined {
  for (const form of FORMS) {
    const groups = form.exec(value)?.groups;
    if (groups) return parseDateParts(groups, now);
  }
  return undefined;
}

function parseDateParts(groups: Record<string, string>, now: number): number | undefined {
  const part = (name: string): number => Number(groups[name]);
  const [hours, minutes, seconds] = [part('hours'), part('minutes'), part('seconds')];
  // A leap second is written as :60.
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const year = groups['year']?.length === 2 ? fullYear(part('year'), now) : part('year');
  const midnight = new Date(Date.UTC(year, MONTHS.indexOf(groups['month'] ?? ''), part('day')));
  // Date turns the 31st of a shorter month into a day of the next month.
  if (midnight.getUTCDate() !== part('day')) return undefined;
  return midnight.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** The latest year with these two digits that is at most 50 years ahead (RFC 9110 §5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - twoDigits) % 100);
}
