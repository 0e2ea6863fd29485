import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { builtPage } from '../../../cli/commands/console/page-build.ts';
import { readPage, type PageFiles } from '../../../cli/commands/console/page-files.ts';

// Vite builds the page if its sources have changed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const MOST_BYTES = 150 * 1024;

let page: PageFiles;
beforeAll(async () => {
  const { signal } = new AbortController();
  page = await readPage(await builtPage({ signal, show: (work) => work() }));
});

const html = (): string => page.get('/')?.bytes.toString() ?? '';

describe('the built console', () => {
  it('is at most 150 KB in total, gzipped', () => {
    const sizes = [...page].map(([path, { bytes }]) => ({ path, size: gzipSync(bytes).length }));
    const sum = sizes.reduce((total, { size }) => total + size, 0);
    expect(sum, JSON.stringify(sizes)).toBeLessThanOrEqual(MOST_BYTES);
    expect(sum).toBeGreaterThan(10_000);
  });

  it('links only to existing files, and has no inline script or style that its policy would block', () => {
    const linked = [...html().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(linked.length).toBeGreaterThan(1);
    for (const address of linked.filter((one) => !one.startsWith('data:'))) {
      expect(page.has(address), address).toBe(true);
    }
    expect(html()).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  });

  it('contains its icon, so that browsers do not request a missing favicon', () => {
    expect(html()).toMatch(/<link\s+rel="icon"\s+href="(?:data:image\/svg\+xml,|\/assets\/)/);
  });

  it('loads nothing from other hosts', () => {
    for (const [path, { bytes }] of page) {
      expect(bytes.toString(), path).not.toMatch(/@import\s+(?:url\()?['"]?https?:|url\(['"]?https?:/);
    }
  });

  it('is not built again while its sources are unchanged', async () => {
    const show = vi.fn((work: () => Promise<void>) => work());
    await builtPage({ signal: new AbortController().signal, show });
    expect(show).not.toHaveBeenCalled();
  });
});
