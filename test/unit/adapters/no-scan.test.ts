import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url);

/** Every source file that runs in AWS or on an operator's machine. */
const sources = ['shared', 'functions', 'cli', 'local'].flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|mjs)$/.test(name))
    .map((name) => `${folder}/${name}`),
);

describe('the source code', () => {
  it('never scans a whole table', () => {
    expect(sources.length).toBeGreaterThan(100);
    const scans = sources.filter((source) =>
      /ScanCommand|paginateScan|ExecuteStatementCommand|\.scan\(/.test(
        readFileSync(new URL(source, root), 'utf8'),
      ),
    );
    expect(scans).toEqual([]);
  });
});
