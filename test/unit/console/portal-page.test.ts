import { describe, expect, it } from 'vitest';
import { accentColours, contrast, parseColour } from '../../../portal/src/accent.ts';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { builtPortal } from '../../browser/portal-build.ts';

/** The colour of `rgb(1 2 3 / 100%)`, or the two of `light-dark(…)`. */
const coloursIn = (text: string) =>
  [...text.matchAll(/rgb\((\d+) (\d+) (\d+) /g)].map(
    ([, red, green, blue]) => [Number(red), Number(green), Number(blue)] as const,
  );

const ACCENTS = ['#000000', '#ffffff', '#777777', '#ffd400', '#00ff00', '#0000ff', '#2450b8', '#808000'];

describe('the colours of an accent', () => {
  it.each(ACCENTS)('%s: text on it can be read, also while a pointer is above it', (accent) => {
    const colours = accentColours(accent);
    const [text = parseColour(accent)] = coloursIn(colours['--accent-text']);
    for (const name of ['--accent-fill', '--accent-hover'] as const)
      for (const fill of coloursIn(colours[name])) expect(contrast(fill, text)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(ACCENTS)('%s: as text it can be read on light and dark surfaces', (accent) => {
    const [light, dark] = coloursIn(accentColours(accent)['--accent']);
    expect(contrast(light ?? [0, 0, 0], [241, 241, 238])).toBeGreaterThanOrEqual(4.5);
    expect(contrast(dark ?? [0, 0, 0], [35, 39, 43])).toBeGreaterThanOrEqual(4.5);
  });

  it('keeps a colour that can be read as it is', () => {
    expect(accentColours('#2450b8')).toMatchObject({
      '--accent-fill': 'rgb(36 80 184 / 100%)',
      '--accent': expect.stringContaining('light-dark(rgb(36 80 184 / 100%), ') as unknown,
      '--accent-text': 'rgb(255 255 255 / 100%)',
    });
  });
});

it('The page of the portal has less than 150 kB, compressed', { timeout: 60_000 }, async () => {
  const folder = await builtPortal();
  const files = globSync('**/*.*', { cwd: folder });
  expect(files).toContain('index.html');
  const sizes = files.map((file) => gzipSync(readFileSync(join(folder, file))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});
