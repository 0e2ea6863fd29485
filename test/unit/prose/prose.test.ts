import { describe, expect, it } from 'vitest';
import { bannedIn, hardSentencesIn } from '../../prose/prose.ts';

const linesOf = (path: string, source: string) => bannedIn(path, source).map(({ line }) => line);

describe('The prose check', () => {
  it.each([
    ['a comment', 'const a = 1;\n// For whoever reads this.\n'],
    ['a comment behind code', 'const b = 2;\nconst a = 1; // not of its own\n'],
    ['a docstring', '\n/** Sends whatever is there. */\nfunction send() {}\n'],
    ['a test name', "it(\n'tells nobody at all', () => {});\n"],
    ['a template text', 'const url = 1;\nconst a = `The queue ${url} is for nobody.`;\n'],
  ])('finds a banned word in %s', (_, source) => {
    expect(linesOf('some/file.ts', source)).toEqual([2]);
  });

  it('finds a banned word in the text of an element', () => {
    expect(linesOf('some/page.tsx', 'const a = (\n  <p>Nobody is waiting</p>\n);')).toEqual([2]);
  });

  it('finds a phrase that goes over two lines of a docstring', () => {
    expect(linesOf('some/file.ts', '/**\n * A lane of its\n * own for names.\n */\n')).toEqual([2]);
  });

  it('finds a banned word on a page', () => {
    expect(linesOf('CHANGELOG.md', '# Title\n\nFor anybody.\n')).toEqual([3]);
  });

  it('leaves names and codes alone', () => {
    expect(linesOf('some/file.ts', "const buried = 'nobody';\nhasten(buried);\n")).toEqual([]);
  });

  it('finds a long sentence of long words, and no short one', async () => {
    const hard = `Notwithstanding ${'administrative responsibilities, '.repeat(15)}organisations experience disproportionately complicated requirements.`;
    expect(await hardSentencesIn(`# Title\n\nA queue has subscriptions.\n\n${hard}\n`)).toMatchObject([
      { line: 5 },
    ]);
  });
});
