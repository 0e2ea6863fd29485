import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { anchorsIn, headingsIn, withoutCode } from '../../support/anchors.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
  .concat(readdirSync(join(root, 'docs')).map((name) => `docs/${name}`))
  .filter((name) => name.endsWith('.md'))
  .map((page) => ({ page }));

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const proseOf = (page: string): string => withoutCode(textOf(page));

/** Targets of Markdown links, and of images in HTML. */
const linksOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g)].map(
    ([, markdown, html]) => markdown ?? html ?? '',
  );

const isBroken = (page: string, target: string): boolean => {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, file))) return true;
  return anchor !== undefined && file.endsWith('.md') && !anchorsIn(textOf(file)).has(anchor);
};

/** The files of the project that git tracks or would add. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));

const THIS_FILE = 'test/unit/docs/links.test.ts';
const SOURCE =
  /^(?:bench|cli|client|console|examples|functions|infra|local|package|shared|test)\/.*\.(?:ts|tsx|mjs|py)$/;
const sources = files.filter((file) => SOURCE.test(file) && file !== THIS_FILE);

/** The matches in these files for which the test of one holds, with their files. */
const matchesIn = (
  among: readonly string[],
  pattern: RegExp,
  isWrong: (...groups: string[]) => boolean = () => true,
): string[] =>
  among.flatMap((file) =>
    [...textOf(file).matchAll(pattern)]
      .filter((groups) => isWrong(...groups))
      .map(([text]) => `${file}: ${text}`),
  );

/** Such as docs/retry-policy.md#jitter, in a comment or in a text of the command. */
const REFERENCE = /\b(?:docs\/[a-z-]+|README|CONTRIBUTING|SECURITY)\.md(?:#[a-z0-9-]+)?/g;

/** Such as docs/operations.md, "Redrive": a page and a heading on it. */
const NAMED_HEADING = /\b(docs\/[a-z-]+\.md)\b[^\n"]{0,12}"([^"\n]+)"/g;

/** Such as "design §3": a section by its number, which no page has. */
const NUMBERED = /\b(?:docs|design|guarantees|concepts|operations|architecture|policy|readme)(?:\.md)?,? §/gi;

/** Such as `shared/domain/`, in a code span of a page. */
const PATH = /`((?:bench|cli|client|console|examples|functions|infra|local|package|shared|test)\/[\w./-]+)`/g;

describe('references to a page in code', () => {
  it('lead to a heading that exists', () => {
    expect(matchesIn(sources, REFERENCE, (reference) => isBroken('README.md', reference))).toEqual([]);
  });

  it('name a heading that exists', () => {
    const isMissing = (_: string, page = '', heading = '') =>
      isBroken('README.md', page) || !headingsIn(textOf(page)).includes(heading);
    expect(matchesIn(sources, NAMED_HEADING, isMissing)).toEqual([]);
  });

  it('do not use section numbers', () => {
    expect(matchesIn([...sources, ...pages.map(({ page }) => page)], NUMBERED)).toEqual([]);
  });
});

it.each(pages.filter(({ page }) => page !== 'CHANGELOG.md'))('paths of files exist: $page', ({ page }) => {
  expect(matchesIn([page], PATH, (_, path = '') => !existsSync(join(root, path)))).toEqual([]);
});

it.each(pages)('links of a page lead to files and headings that exist: $page', ({ page }) => {
  const local = linksOf(page).filter((target) => !/^[a-z]+:/.test(target));
  expect(local.filter((target) => isBroken(page, target))).toEqual([]);
});
