import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
  .concat(readdirSync(join(root, 'docs')).map((name) => `docs/${name}`))
  .filter((name) => name.endsWith('.md'))
  .map((page) => ({ page }));

/** A page without code, which may look like a link or a heading. */
const proseOf = (page: string): string =>
  readFileSync(join(root, page), 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));

/** The anchors that GitHub generates from headings. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set(
    [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

const linksOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

const isBroken = (page: string, target: string): boolean => {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, file))) return true;
  return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor);
};

/** The files of the project, without installed or generated ones. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n');

const SOURCE = /^(?:bench|cli|console|examples|functions|infra|local|shared|test)\/.*\.(?:ts|tsx|mjs)$/;

/** References such as docs/policy.md#jitter in a comment. */
const referencesIn = (source: string): string[] =>
  [
    ...readFileSync(join(root, source), 'utf8').matchAll(/\b(?:docs\/[a-z-]+|README)\.md(?:#[a-z0-9-]+)?/g),
  ].map(([reference]) => reference);

/** Paths such as `shared/domain/` in a code span of a page. */
const pathsIn = (page: string): string[] =>
  [
    ...readFileSync(join(root, page), 'utf8').matchAll(
      /`((?:bench|cli|console|examples|functions|infra|local|shared|test)\/[\w./-]+)`/g,
    ),
  ].map(([, path = '']) => path);

describe('every reference to a page in the code', () => {
  it('leads to an existing page and heading', () => {
    const broken = files
      .filter((file) => SOURCE.test(file) && existsSync(join(root, file)))
      .flatMap((file) =>
        referencesIn(file)
          .filter((reference) => isBroken('README.md', reference))
          .map((reference) => `${file}: ${reference}`),
      );
    expect(broken).toEqual([]);
  });
});

describe('every path in a page', () => {
  it.each(pages.filter(({ page }) => page !== 'CHANGELOG.md'))('exists: $page', ({ page }) => {
    expect(pathsIn(page).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('every link to another page', () => {
  it.each(pages)('leads to an existing page and heading: $page', ({ page }) => {
    const own = linksOf(page).filter((target) => !/^[a-z]+:/.test(target));
    expect(own.filter((target) => isBroken(page, target))).toEqual([]);
  });
});
