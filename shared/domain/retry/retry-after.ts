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
    if (groups) return dateOf(groups, now);
  }
  return undefined;
}

function dateOf(groups: Record<string, string>, now: number): number | undefined {
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
