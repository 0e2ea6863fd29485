import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { formatRanges } from '../../../cli/commands/publish/publish.ts';
import { orAfter, untilInterrupted } from '../../../cli/interruption.ts';
import { inputLines } from '../../../cli/options/input.ts';
import { withMembers, parseSince, parseTime } from '../../../cli/options/arguments.ts';
import { clockTime, printable, printableJson } from '../../../cli/output/text.ts';
import { progressBar, progressLine } from '../../../cli/output/progress-line.ts';
import { fieldLines, tableLines } from '../../../cli/output/list.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { captured } from './run-command.ts';

const anyText = fc.string({ unit: anyCharacter });
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('untrusted text', () => {
  it('contains no character that a terminal acts on', () => {
    fc.assert(fc.property(anyText, (text) => !UNSAFE.test(printable(text))));
  });

  it.each(['\u061c', '\u00ad', '\ufff9', '\u{e0041}', '\u202e', '\u001b'])('has %j escaped', (character) => {
    const shown = printable(`a${character}b`);
    expect(shown).toMatch(/^a(?:\\u[0-9a-f]{4})+b$/);
    expect(JSON.parse(`"${shown}"`)).toBe(`a${character}b`);
  });

  it('is unchanged if it is harmless', () => {
    expect(printable('grüße, 世界 – "q" \\ 👍')).toBe('grüße, 世界 – "q" \\ 👍');
  });

  it('keeps its value in JSON, with unsafe characters escaped', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
        const shown = printableJson(JSON.stringify(value));
        expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(shown).not.toMatch(UNSAFE);
      }),
    );
  });
});

describe('a table', () => {
  it('aligns its columns by display width', () => {
    const columns = [{ head: 'Name' }, { head: 'N', align: 'right' as const }];
    const rows = ['世界 10', 'e\u0301 5'].map((row) => row.split(' '));
    expect(tableLines(columns, rows)).toEqual(['Name   N', '世界  10', 'e\u0301      5']);
  });

  it('of fields omits those without a value', () => {
    const fields = Object.entries({ A: '1', Long: undefined, Bcd: '2' });
    expect(fieldLines(fields)).toEqual(['A    1', 'Bcd  2']);
  });
});

it.each([
  [0, '[------------------------------]   0%'],
  [0.5, '[###############---------------]  50%'],
  [1, '[##############################] 100%'],
])('a progress bar shows %f', (part, bar) => {
  expect(progressBar(part)).toBe(bar);
});

describe('lines of an input', () => {
  const lines = async (chunks: Buffer[], most = 1_000): Promise<(string | undefined)[]> => {
    const texts: (string | undefined)[] = [];
    for await (const { bytes } of inputLines(Readable.from(chunks), most)) texts.push(bytes?.toString());
    return texts;
  };

  it('are the same for any division of the bytes into chunks', async () => {
    const text = fc.array(fc.constantFrom('a', 'ü', '\n', '\r', '\u2028', '世'), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (parts, size) => {
        const bytes = Buffer.from(parts.join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const expected = parts.join('').split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(await lines(chunks)).toEqual(expected);
      }),
    );
  });

  it('mark a line that is too long, and continue after it', async () => {
    const chunks = ['ab\nabcd', 'e\nabc\n'].map((text) => Buffer.from(text));
    expect(await lines(chunks, 3)).toEqual(['ab', undefined, 'abc']);
  });
});

it('JSON text keeps the source text of its members', () => {
  const members = { m: '2.00', x: undefined };
  expect(withMembers(' { "n" : 1.0 } ', members)).toBe('{"n" : 1.0,"m":2.00}');
  expect(withMembers('{}', members)).toBe('{"m":2.00}');
});

it('line ranges combine consecutive line numbers', () => {
  expect(formatRanges([5, 1, 3, 2, 9])).toBe('1-3, 5, 9');
});

describe('progress', () => {
  /** A line of progress, and all that is written of it. */
  const shownOn = (isTTY: boolean) => {
    let now = 0;
    const texts: string[] = [];
    const write = (text: string | Uint8Array) => texts.push(String(text)) > 0;
    const line = progressLine({ isTTY, write }, () => now);
    return { line, texts, wait: (milliseconds: number) => (now += milliseconds) };
  };

  it('is one line on a terminal, which is overwritten and cleared at the end', () => {
    const { line, texts } = shownOn(true);
    line.show('one');
    line.show('two');
    line.clear();
    expect(texts).toEqual(['\r\u001b[2Kone', '\r\u001b[2Ktwo', '\r\u001b[2K']);
  });

  it('is a line every ten seconds otherwise, and none for a short run', () => {
    const { line, texts, wait } = shownOn(false);
    line.show('at once');
    wait(9_999);
    line.show('soon');
    wait(1);
    line.show('after ten seconds');
    line.show('right after');
    line.clear();
    expect(texts).toEqual(['after ten seconds\n']);
  });
});

const local = (hours: number, minutes: number, seconds = 0) =>
  new Date(2026, 10, 23, hours, minutes, seconds).getTime();

describe('the time of an option', () => {
  it.each([
    ['with a blank', '2026-11-23 03:05:52', local(3, 5, 52)],
    ['without seconds', '2026-11-23 03:05', local(3, 5)],
    ['without a zone', '2026-11-23T03:05', local(3, 5)],
    ['that is a date, from its midnight', '2026-11-23', local(0, 0)],
    ['in UTC', '2026-11-23T03:05:52Z', Date.UTC(2026, 10, 23, 3, 5, 52)],
    ['with an offset', '2026-11-23 03:05:52.5+02:00', Date.UTC(2026, 10, 23, 1, 5, 52, 500)],
  ])('is accepted %s', (_, text, at) => {
    expect(parseTime(text)).toBe(at);
  });

  it('is of today without a day; a beginning that is still to come is of yesterday', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: local(10, 0) });
    try {
      expect([parseTime('09:59'), parseTime('10:05:09')]).toEqual([local(9, 59), local(10, 5, 9)]);
      expect([parseSince('09:59'), parseSince('10:00')]).toEqual([local(9, 59), local(10, 0)]);
      expect(parseSince('10:05')).toBe(local(10 - 24, 5));
      expect(parseSince('2026-11-23 10:05')).toBe(local(10, 5));
      expect(() => parseSince('25:00')).toThrow('Expected a time such as');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is accepted as the command prints it', () => {
    const at = local(17, 4, 9);
    expect(parseTime(clockTime(new Date(at).toISOString()))).toBe(at);
  });

  it.each(['2026-02-30', '2026-11-23 25:00', '2026-11-23T03', '23.11.2026', '2026-11-23 03:05 CET', ''])(
    'is refused if it is %j',
    (text) => {
      expect(() => parseTime(text)).toThrow('Expected a time such as');
    },
  );
});

it('a question reads the terminal no longer once it is answered, so that the program can end', async () => {
  const host = captured();
  Object.assign(host.stdin, { isTTY: true });
  Object.assign(host.stderr, { isTTY: true });
  const answer = terminalIn(host).ask('Name? ');
  host.stdin.write('orders\n');
  expect(await answer).toBe('orders');
  await setImmediate();
  expect(host.stdin.isPaused()).toBe(true);
});

it('a second Ctrl-C ends the program, unless npm forwarded the first one, which takes less than a second', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const signals = new EventEmitter();
  const again = vi.fn();
  const end = Promise.withResolvers<string>();
  const result = untilInterrupted(() => end.promise, signals, again);
  signals.emit('SIGINT');
  vi.advanceTimersByTime(900);
  signals.emit('SIGTERM');
  expect(again).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  signals.emit('SIGINT');
  expect(again).toHaveBeenCalledOnce();
  end.resolve('ended');
  expect(await result).toBe('ended');
  expect(signals.listenerCount('SIGINT')).toBe(0);
});

it('a command that is to stop after two months does so, although no timer is that long', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const day = 86_400;
  const signal = orAfter(new AbortController().signal, 60 * day);
  vi.advanceTimersByTime(60 * day * 1000 - 1);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
});
