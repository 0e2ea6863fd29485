import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readReply, toSnippet } from '../../../shared/adapters/http/exchange.ts';

const bytesOf = (text: string): number => Buffer.byteLength(text);

describe('toSnippet', () => {
  it('is at most 256 bytes of valid text without control characters, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const snippet = toSnippet(bytes);
        expect(bytesOf(snippet)).toBeLessThanOrEqual(256);
        expect(snippet.isWellFormed()).toBe(true);
        expect(snippet).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  it('returns short and clean text unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 256 }), (text) => {
        expect(toSnippet(Buffer.from(text))).toBe(text);
      }),
    );
  });

  it('cuts between characters', () => {
    expect(toSnippet(Buffer.from('é'.repeat(200)))).toBe('é'.repeat(128));
    expect(toSnippet(Buffer.from(`x${'é'.repeat(200)}`))).toBe(`x${'é'.repeat(127)}`);
    expect(toSnippet(Buffer.from('😀'.repeat(100)).subarray(0, 15))).toBe('😀'.repeat(3));
  });

  it('shows invalid UTF-8 as U+FFFD, within the limit', () => {
    expect(toSnippet(Buffer.of(0x61, 0xff, 0x62))).toBe('a\ufffdb');
    expect(bytesOf(toSnippet(Buffer.alloc(256, 0xff)))).toBe(255);
  });

  it('replaces characters that break lines, control a terminal or change the text direction by spaces', () => {
    expect(toSnippet(Buffer.from('a\r\nb\tc\u0007d\u001b[31me\u007ff\u0085g\u202eh\u2066i\u2028j'))).toBe(
      'a  b c d [31me f g h i j',
    );
  });
});

describe('readReply', () => {
  it('returns no reply before there is a status', () => {
    const reading = readReply();
    expect(reading.reply()).toBeUndefined();
    reading.start(503, ['Retry-After', ' 5 ', 'retry-after', '7']);
    expect(reading.reply()).toEqual({ kind: 'answered', statusCode: 503, retryAfter: '5' });
  });

  it.each([
    ['disable', 'disable'],
    [' ABORT-Message ', 'abort-message'],
    ['disable, abort-message', undefined],
    ['disable;now', undefined],
    ['enable', undefined],
    ['', undefined],
  ])('reads what %j in the header webhook-delivery asks for', (value, asks) => {
    const reading = readReply();
    reading.start(200, ['x-disable', 'disable', 'Webhook-Delivery', value]);
    expect(reading.reply()).toEqual({ kind: 'answered', statusCode: 200, ...(asks && { asks }) });
  });

  it('ignores the header webhook-delivery if it is repeated, however often', () => {
    for (const copies of [2, 400, 10_000]) {
      const reading = readReply();
      reading.start(200, Array.from({ length: copies }, () => ['webhook-delivery', 'disable']).flat());
      expect(reading.reply()).toEqual({ kind: 'answered', statusCode: 200 });
    }
  });

  it('accepts up to 64 KB of body and drops the rest', () => {
    const reading = readReply();
    reading.start(200, []);
    expect(reading.add(Buffer.alloc(64 * 1024))).toBe('going_on');
    expect(reading.add(Buffer.alloc(1))).toBe('dropped');
  });

  it('accepts up to 16 KB of headers and drops longer ones with their Retry-After', () => {
    const value = 'v'.repeat(16 * 1024 - 'retry-after'.length - 1 - 'x-long'.length - 2 * 4);
    expect(readReply().start(200, ['retry-after', '1', 'x-long', value])).toBe('going_on');
    const reading = readReply();
    expect(reading.start(200, ['retry-after', '1', 'x-long', `${value}v`])).toBe('dropped');
    expect(reading.reply()).toEqual({ kind: 'answered', statusCode: 200 });
    expect(readReply().start(200, Array.from({ length: 2_000 }, () => ['set-cookie', 'a']).flat())).toBe(
      'dropped',
    );
  });

  it('copies the start of the body, which may arrive in small pieces', () => {
    const reading = readReply();
    reading.start(500, []);
    const piece = Buffer.from('ab');
    reading.add(piece);
    piece.fill('x');
    reading.add(Buffer.from('cd'));
    expect(reading.reply()).toMatchObject({ snippet: 'abcd' });
  });
});
