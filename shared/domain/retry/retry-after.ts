/**
 * Milliseconds from `now` (milliseconds since the epoch) that a Retry-After header asks to wait (RFC 9110 §10.2.3):
 * whole seconds, or an HTTP-date, of which one that has passed means 0. Undefined where the header is malformed; a hint
 * that cannot be read costs its timing, not the retry. Never above Number.MAX_SAFE_INTEGER; a sensible cap is the caller's.
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

/** The three forms that a recipient must take, case-sensitive (RFC 9110 §5.6.7). The weekday adds nothing and is not held against the date. */
const FORMS = [
  new RegExp(`^${shortDay}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${longDay}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`),
  new RegExp(`^${shortDay} ${month} (?<day>\\d{2}| \\d) ${time} (?<year>\\d{4})$`),
];

function httpDate(value: string, now: number): number | undefined {
  for (const form of FORMS) {
    const groups = form.exec(value)?.groups;
    if (groups) return dateOf(groups, now);
  }
  return undefined;
}

function dateOf(groups: Record<string, string>, now: number): number | undefined {
  const part = (name: string): number => Number(groups[name]);
  const [hours, minutes, seconds] = [part('hours'), part('minutes'), part('seconds')];
  // A leap second is written :60.
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const year = groups['year']?.length === 2 ? fullYear(part('year'), now) : part('year');
  const midnight = new Date(Date.UTC(year, MONTHS.indexOf(groups['month'] ?? ''), part('day')));
  // The 31st of a shorter month, which Date takes for a day of the next one.
  if (midnight.getUTCDate() !== part('day')) return undefined;
  return midnight.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** The last year with these two digits that is at most 50 years ahead (RFC 9110 §5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - twoDigits) % 100);
}
