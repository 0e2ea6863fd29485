import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allWaitsText, waitBands } from '../../../console/src/delivery/wait-bands.tsx';
import { curlCommand, knownRequest } from '../../../console/src/delivery/request-section.tsx';
import {
  computeSpan,
  moved,
  timelineLayout,
  type Times,
  timeTicks,
  zoomed,
} from '../../../console/src/delivery/timeline.tsx';

const START = Date.UTC(2026, 10, 21, 12);
const at = (offset: number): string => new Date(START + offset).toISOString();

const attempt = (
  number: number,
  offset: number,
  more: Partial<Times['attempts'][number]> = {},
): Times['attempts'][number] => ({
  number,
  round: 1,
  phase: number === 1 ? 'initial' : 'backoff',
  startedAt: at(offset),
  durationMs: 100,
  outcome: 'failed',
  ...more,
});

describe('the timeline of a delivery', () => {
  const span = { from: START, to: START + 10_000 };

  it('places attempts by time, in the lanes of their phases', () => {
    const times: Times = {
      attempts: [attempt(1, 1000, { durationMs: 500 }), attempt(2, 5000, { outcome: 'delivered' })],
      planned: [{ number: 3, phase: 'post_backoff', dueAt: at(9000) }],
    };
    expect(timelineLayout(times, span, 1000)).toEqual({
      lanes: ['initial', 'backoff', 'post_backoff'],
      marks: [
        { key: '1-1', number: 1, lane: 0, kind: 'failed', x: 100, width: 50 },
        { key: '1-2', number: 2, lane: 1, kind: 'delivered', x: 500, width: 10 },
        { key: 'planned-3', number: 3, lane: 2, kind: 'planned', x: 900, width: 7 },
      ],
    });
  });

  const marksOf = (...attempts: Times['attempts']) =>
    timelineLayout({ attempts, planned: [] }, span, 1000).marks;

  it('marks the due time of an attempt that started late, but not of one on time', () => {
    const marks = marksOf(attempt(2, 5000, { dueAt: at(2000) }), attempt(3, 8000, { dueAt: at(7999) }));
    expect(marks.map(({ dueX }) => dueX)).toEqual([200, undefined]);
  });

  it('leaves out attempts outside of the span, unless the line from their due time is inside', () => {
    const marks = marksOf(attempt(1, -5000), attempt(2, 20_000, { dueAt: at(9000) }), attempt(3, 30_000));
    expect(marks.map(({ number }) => number)).toEqual([2]);
  });

  it('fits a hundred attempts and a planned one', () => {
    const times: Times = {
      attempts: Array.from({ length: 100 }, (_, index) => attempt(index + 1, index * 60_000)),
      planned: [{ number: 101, phase: 'post_backoff', dueAt: at(86_400_000) }],
    };
    const { marks } = timelineLayout(times, computeSpan(times, 'all', START), 800);
    expect(marks).toHaveLength(101);
    for (const { x } of marks) expect(x >= 0 && x <= 800).toBe(true);
    expect(computeSpan(times, 'made', START).to).toBeLessThan(START + 110 * 60_000);
  });

  it('is centred on now without attempts', () => {
    expect(computeSpan({ attempts: [], planned: [] }, 'all', START)).toEqual({
      from: START - 50,
      to: START + 50,
    });
  });

  it('zooms around its middle, and moves', () => {
    expect(zoomed(span, 0.5)).toEqual({ from: START + 2500, to: START + 7500 });
    expect(moved(span, -0.5)).toEqual({ from: START - 5000, to: START + 5000 });
  });
});

describe('the waits on the timeline', () => {
  const MINUTE = 60_000;
  const waited = [
    { reason: 'lag' as const, ms: 2_000 },
    { reason: 'rate_limited' as const, ms: 5 * MINUTE },
  ];
  const nextAttempt = { number: 2, phase: 'backoff', dueAt: at(9 * MINUTE), by: 'sqs_delay' } as const;

  it('follow each other, and end with the start of their attempt', () => {
    const [lag, rate] = waitBands({ attempts: [attempt(1, 6 * MINUTE, { waited })] }, START);
    const of = { number: 1, phase: 'initial' };
    expect(lag).toEqual({ ...of, reason: 'lag', from: START + 58_000, to: START + MINUTE });
    expect(rate).toEqual({ ...of, reason: 'rate_limited', from: START + MINUTE, to: START + 6 * MINUTE });
  });

  it('of the next attempt last until now while it waits', () => {
    const since = { waiting: 'circuit_open' as const, waitingSince: at(MINUTE), waited: [] };
    const bands = waitBands({ attempts: [], nextAttempt: { ...nextAttempt, ...since } }, START + 4 * MINUTE);
    const ends = { from: START + MINUTE, to: START + 4 * MINUTE };
    expect(bands).toEqual([{ number: 2, phase: 'backoff', reason: 'circuit_open', ...ends }]);
  });

  it('of the next attempt end before it is due once it does not wait any more', () => {
    const [, rate] = waitBands(
      { attempts: [], nextAttempt: { ...nextAttempt, waited } },
      START + 99 * MINUTE,
    );
    expect(rate?.to).toBe(START + 9 * MINUTE);
  });

  it('are within the span, and so is the acceptance', () => {
    const times: Times = {
      attempts: [attempt(1, 6 * MINUTE, { waited })],
      planned: [],
      acceptedAt: at(-MINUTE),
    };
    expect(computeSpan(times, 'all', START).from).toBeLessThan(START - MINUTE);
    expect(computeSpan(times, 'made', START).from).toBeLessThan(START + 58_000);
    expect(computeSpan(times, 'made', START).from).toBeGreaterThan(START);
  });

  it('are said in words to those who do not see them', () => {
    const since = { waiting: 'rate_limited' as const, waitingSince: at(MINUTE) };
    const delivery = {
      attempts: [attempt(1, 6 * MINUTE, { waited })],
      nextAttempt: { ...nextAttempt, ...since },
    };
    expect(allWaitsText(delivery, START + 3 * MINUTE)).toBe('2 s (lag), 7 min (rate limit)');
    expect(allWaitsText({ attempts: [attempt(1, 0)] }, START)).toBeUndefined();
  });
});

describe('timeTicks', () => {
  it.each<[number, number, string[]]>([
    [4000, 5, ['12:00:00', '12:00:01', '12:00:02', '12:00:03', '12:00:04']],
    [3_600_000, 3, ['12:00', '12:30', '13:00']],
    [200, 2, ['00:00.000', '00:00.100', '00:00.200']],
    [86_400_000, 3, ['12:00', '22 Nov', '12:00']],
    [4 * 86_400_000, 4, ['22 Nov', '23 Nov', '24 Nov', '25 Nov']],
  ])('over %i ms, about %i ticks at most, are at round times', (length, most, texts) => {
    const ticks = timeTicks({ from: START, to: START + length }, most, 0);
    expect(ticks.map(({ text }) => text)).toEqual(texts);
  });

  it('are at round times of the given time zone', () => {
    const ticks = timeTicks({ from: START, to: START + 86_400_000 }, 2, 5.5 * 3_600_000);
    expect(ticks).toEqual([
      { at: START + 6.5 * 3_600_000, text: '22 Nov' },
      { at: START + 18.5 * 3_600_000, text: '12:00' },
    ]);
  });

  it('are within the span, in order, and at most one more than asked for', () => {
    const lengths = fc.integer({ min: 1, max: 30 * 86_400_000 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 2, max: 20 }), (length, most) => {
        const span = { from: START, to: START + length };
        const ticks = timeTicks(span, most, 3_600_000).map((tick) => tick.at);
        expect(ticks.length).toBeLessThanOrEqual(most + 1);
        expect(ticks).toEqual(ticks.toSorted((one, other) => one - other));
        for (const time of ticks) expect(time >= span.from && time <= span.to).toBe(true);
      }),
    );
  });
});

/** The arguments that curl gets when bash runs the command, as bytes read as UTF-8. */
const argumentsOf = (command: string): string[] => {
  const printing = `curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  return execFileSync('bash', ['--norc', '-c', printing], { env: { LC_ALL: 'C' } })
    .toString()
    .split('\0')
    .slice(0, -1);
};

describe('the curl command of a request', () => {
  const commandOf = (request: Partial<Parameters<typeof curlCommand>[0]>) =>
    curlCommand({ url: 'https://example.com/hook', headers: [], body: '{}', ...request });

  it('is one POST with the headers and the body', () => {
    expect(argumentsOf(commandOf({ headers: [['x-team', 'billing']], body: '{"a": 1}' }))).toEqual([
      ...['--globoff', '--path-as-is', '--request', 'POST', '--url', 'https://example.com/hook'],
      ...['--header', 'x-team: billing', '--data-raw', '{"a": 1}'],
    ]);
  });

  it.each([
    `'; touch /tmp/hit; '`,
    '$(touch /tmp/hit) `touch /tmp/hit` ${HOME} $HOME',
    `it's "quoted" \\' \\\\ !! !rm`,
    'first\nsecond\r\n\tthird; exit',
    `'\n!rm '$(exit 1)\\`,
    '\u001b[2J\u0003\u007f\u009b31m',
    'user\u202efdp.exe\u2028end 🙂',
    '@/etc/passwd',
    '--output /tmp/hit',
    '',
  ])('passes hostile text on as it is: %j', (text) => {
    const url = `https://example.com/${text}`;
    const given = argumentsOf(commandOf({ url, headers: [['x-note', `a${text}`]], body: text }));
    expect(given.slice(4)).toEqual(['--url', url, '--header', `x-note: a${text}`, '--data-raw', text]);
  });

  it('contains no character that a terminal acts on', () => {
    const command = commandOf({ body: '\u001b]0;title\u0007\r\u202e\u0085\t' });
    expect(command).toMatch(/^[\x20-\x7e\n]*$/);
  });

  it('sends a header without a value, which curl would remove', () => {
    expect(argumentsOf(commandOf({ headers: [['x-empty', '']] }))).toContain('x-empty;');
  });
});

const requestWith = (options: Parameters<typeof knownRequest>[0]['options'], body?: string) =>
  knownRequest({ subscriber: 'https://example.com/hook', options }, 'm1', body);

describe('the known request of a delivery', () => {
  it('has the headers of the subscription and the message id, and nothing that a secret signs', () => {
    const { headers, redacted } = requestWith({ post_headers: { 'X-Team': 'a', Authorization: '***' } });
    expect(headers).toEqual([
      ['content-type', 'application/json'],
      ['x-team', 'a'],
      ['authorization', '***'],
      ['accept-encoding', 'identity'],
      ['webhook-id', 'm1'],
    ]);
    expect(redacted).toEqual(['authorization']);
  });

  const mtls = { type: 'mtls', certificate: 'a', private_key: '***' };

  it.each([
    ['of a client certificate', { auth: mtls }, ['--cert', '--key']],
    ['of one and of its authorities', { auth: { ...mtls, ca: 'b' } }, ['--cert', '--key', '--cacert']],
    ['of nothing else', {}, []],
  ])('names the files %s, which the subscriber wants', (_, options, files) => {
    expect(requestWith(options).fileOptions).toEqual(files);
  });

  it('has one content type, that of the subscription', () => {
    const { headers } = requestWith({ post_headers: { 'Content-Type': 'text/plain' } });
    expect(headers.filter(([name]) => name === 'content-type')).toEqual([['content-type', 'text/plain']]);
  });

  it.each(['{"n":1}', undefined])('has the body that the API shows, or none: %s', (body) => {
    expect(requestWith({}, body).body).toBe(body);
  });
});
