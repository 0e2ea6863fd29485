import { describe, expect, it } from 'vitest';
import { progressLine } from '../../../cli/output/progress-line.ts';

const written = (isTTY: boolean) => {
  let now = 0;
  const texts: string[] = [];
  const stream = {
    isTTY,
    write: (text: string | Uint8Array) => {
      texts.push(String(text));
      return true;
    },
  };
  const line = progressLine(stream, () => now);
  const wait = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { line, texts, wait };
};

describe('progress', () => {
  it('is one line on a terminal, which is overwritten and cleared at the end', () => {
    const { line, texts } = written(true);
    line.show('one');
    line.show('two');
    line.clear();
    expect(texts).toEqual(['\r\u001b[2Kone', '\r\u001b[2Ktwo', '\r\u001b[2K']);
  });

  it('is a line every ten seconds otherwise, and none for a short run', () => {
    const { line, texts, wait } = written(false);
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
