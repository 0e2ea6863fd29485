import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { untilInterrupted } from '../../../cli/interruption.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a second Ctrl-C', () => {
  it('ends the program, unless npm forwarded the first one, which takes less than a second', async () => {
    const signals = new EventEmitter();
    const again = vi.fn();
    const end = Promise.withResolvers<string>();
    const result = untilInterrupted(
      (signal) => {
        signal.addEventListener('abort', () => undefined);
        return end.promise;
      },
      signals,
      again,
    );
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
});
