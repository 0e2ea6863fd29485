import { describe, expect, it } from 'vitest';
import { traceContextOf } from '../../../shared/domain/message/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${SPAN}-01`;

describe('the trace of a message', () => {
  it('is what its traceparent and tracestate say', () => {
    const tracestate = 'rojo=00f067aa0ba902b7, fw529a3039@dt=FfFfFfFf';
    expect(traceContextOf({ traceparent, tracestate })).toEqual({ traceparent, tracestate });
    expect(traceContextOf({ traceparent })).toEqual({ traceparent });
  });

  it('is passed on in version 00 if it has a later one', () => {
    for (const later of [
      `cc-${TRACE}-${SPAN}-03`,
      `cc-${TRACE}-${SPAN}-01-what the future will be`.replaceAll(' ', '-'),
    ])
      expect(traceContextOf({ traceparent: later })).toEqual({ traceparent });
    expect(traceContextOf({ traceparent: `cc-${TRACE}-${SPAN}-02` })).toEqual({
      traceparent: `00-${TRACE}-${SPAN}-00`,
    });
  });

  it.each([
    undefined,
    7,
    '',
    traceparent.toUpperCase(),
    ` ${traceparent}`,
    `${traceparent}\r\nx-admin: 1`,
    `${traceparent}-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `cc-${TRACE}-${SPAN}-01-é`,
  ])('is dropped with the traceparent %j', (invalid) => {
    expect(traceContextOf({ traceparent: invalid, tracestate: 'a=1' })).toBeUndefined();
  });

  it.each([
    '',
    'a',
    'a=',
    'A=1',
    'a=1,',
    'a=1,a=2',
    'a=1;b=2=3',
    'a=1\r\nx-admin: 1',
    'a=é',
    Array.from({ length: 33 }, (_, n) => `a${n}=1`).join(),
    `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`,
    ['a=1'],
    'a=1\n',
    'a=1,\r\nb=2',
    'a=1\u00a0,b=2',
  ])('loses the tracestate %j alone', (tracestate) => {
    expect(traceContextOf({ traceparent, tracestate })).toEqual({ traceparent });
  });
});
