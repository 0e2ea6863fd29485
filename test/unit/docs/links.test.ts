import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
  .concat(readdirSync(join(root, 'docs')).map((name) => `docs/${name}`))
  .filter((name) => name.endsWith('.md'))
  .map((page) => ({ page }));

/** Without what stands in code, which may look like a link or a heading. */
const proseOf = (page: string): string =>
  readFileSync(join(root, page), 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));

/** As GitHub makes anchors of headings. */
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

describe('every link to another page', () => {
  it.each(pages)('leads somewhere: $page', ({ page }) => {
    const own = linksOf(page).filter((target) => !/^[a-z]+:/.test(target));
    expect(own.filter((target) => isBroken(page, target))).toEqual([]);
  });
});
