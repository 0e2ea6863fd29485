import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { builtPage } from '../../../cli/commands/console/page-build.ts';
import { readPage, type PageFiles } from '../../../cli/commands/console/page-files.ts';

// Vite builds it where its sources have changed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const MOST_BYTES = 150 * 1024;

let page: PageFiles;
beforeAll(async () => {
  const { signal } = new AbortController();
  page = await readPage(await builtPage({ signal, show: (work) => work() }));
});

const html = (): string => page.get('/')?.bytes.toString() ?? '';

describe('the built console', () => {
  it('is at most 150 KB gzipped, all of it', () => {
    const sizes = [...page].map(([path, { bytes }]) => ({ path, size: gzipSync(bytes).length }));
    const sum = sizes.reduce((total, { size }) => total + size, 0);
    expect(sum, JSON.stringify(sizes)).toBeLessThanOrEqual(MOST_BYTES);
    expect(sum).toBeGreaterThan(10_000);
  });

  it('is of files that are there, and has nothing inline that its policy would refuse', () => {
    const linked = [...html().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(linked.length).toBeGreaterThan(1);
    for (const address of linked.filter((one) => !one.startsWith('data:'))) {
      expect(page.has(address), address).toBe(true);
    }
    expect(html()).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  });

  it('brings its icon along, so that no browser asks for one that is not there', () => {
    expect(html()).toMatch(/<link\s+rel="icon"\s+href="(?:data:image\/svg\+xml,|\/assets\/)/);
  });

  it('names nothing on any other machine that it would load', () => {
    for (const [path, { bytes }] of page) {
      expect(bytes.toString(), path).not.toMatch(/@import\s+(?:url\()?['"]?https?:|url\(['"]?https?:/);
    }
  });

  it('is not built anew where its sources are the same', async () => {
    const show = vi.fn((work: () => Promise<void>) => work());
    await builtPage({ signal: new AbortController().signal, show });
    expect(show).not.toHaveBeenCalled();
  });
});
