import { toNlcst } from 'mdast-util-to-nlcst';
import { ParseEnglish } from 'parse-english';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import retextReadability from 'retext-readability';
import ts from 'typescript';
import { unified } from 'unified';
import { VFile } from 'vfile';
import { BANS } from './banned.ts';

/** A text that people read, and the line on which it begins, from 1. */
type Passage = { text: string; line: number };

export type Finding = { line: number; message: string };

/** What people read in a file: the comments and texts of code, everything else of a page. */
function passagesOf(path: string, source: string): readonly Passage[] {
  return /\.(?:ts|tsx|mjs|cjs)$/.test(path) ? codePassages(path, source) : [{ text: source, line: 1 }];
}

/** Banned words in a file. */
export function bannedIn(path: string, source: string): readonly Finding[] {
  return passagesOf(path, source).flatMap(({ text, line }) =>
    BANS.flatMap(({ words, instead }) =>
      [...text.matchAll(anyWhitespace(words))].map(({ 0: found, index }) => ({
        line: line + text.slice(0, index).split('\n').length - 1,
        message: `"${found.replaceAll(/\s+/g, ' ')}": ${instead}`,
      })),
    ),
  );
}

const READABILITY = { age: 18, minWords: 25, threshold: 4 / 7 };

/**
 * Sentences of a Markdown page that are hard to read: 25 words or more, and four of the seven formulas of retext-readability
 * ask for more than school.
 */
export async function hardSentencesIn(source: string): Promise<readonly Finding[]> {
  const file = new VFile(source);
  const page = unified().use(remarkParse).use(remarkGfm).parse(file);
  await unified()
    .use(retextReadability, READABILITY)
    .run(toNlcst(page, file, ParseEnglish), file);
  return file.messages.map(({ line, actual }) => ({
    line: line ?? 1,
    message: `hard to read: "${(actual ?? '').replaceAll(/\s+/g, ' ').slice(0, 100)}…"`,
  }));
}

/** A phrase may go over the end of a line. */
function anyWhitespace({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replaceAll(' ', String.raw`\s+`), `${flags}g`);
}

function codePassages(path: string, source: string): Passage[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const comments = new Map<number, string>();
  const texts: Passage[] = [];
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    for (const range of commentsAround(source, node))
      comments.set(range.pos, source.slice(range.pos, range.end));
    if (isText(node) && node.text.includes(' '))
      texts.push({ text: node.text, line: lineAt(node.getStart(file)) });
    node.getChildren(file).forEach(visit);
  };
  visit(file);
  return [
    ...texts,
    ...[...comments].map(([position, text]) => ({ text: unwrapped(text), line: lineAt(position) })),
  ];
}

function commentsAround(source: string, node: ts.Node): readonly ts.CommentRange[] {
  if (ts.isJsxText(node)) return [];
  return [
    ...(ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []),
    ...(ts.getTrailingCommentRanges(source, node.getEnd()) ?? []),
  ];
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node);
}

/** Without the stars at the beginning of lines, so that a phrase over two lines is found. */
function unwrapped(comment: string): string {
  return comment.replaceAll(/\n\s*(?:\*|\/\/)/g, '\n');
}
