import { counted } from '../../../api-client/words.ts';
import { printable } from '../../output/text.ts';
import type { Outcome, Result } from './check.ts';

const WORDS: Readonly<Record<Outcome['kind'], string>> = {
  passed: 'passed',
  failed: 'FAILED',
  notShown: 'not shown here',
};

/** A result as a line, with what to do below it. */
export function resultText({ id, title, outcome, seconds }: Result): string {
  const head = `${WORDS[outcome.kind].padEnd(14)}  ${id.padEnd(20)}  ${title}`;
  const more = outcome.kind === 'notShown' ? outcome.reason : outcome.detail;
  const lines = [head, `${INDENT}${printable(more)} (${seconds.toFixed(1)} s)`];
  if (outcome.kind === 'failed') lines.push(`${INDENT}→ ${printable(outcome.advice)}`);
  return lines.join('\n');
}

const INDENT = ' '.repeat(16);

export function resultJson({ id, title, outcome, seconds }: Result): object {
  const { kind, ...more } = outcome;
  return { check: id, title, state: kind, seconds: Number(seconds.toFixed(3)), ...more };
}

export function summaryText(results: readonly Result[]): string {
  const passed = counted(count(results, 'passed'), 'check', 'checks');
  return `${passed} passed, ${count(results, 'failed')} failed, ${count(results, 'notShown')} not shown here.`;
}

function count(results: readonly Result[], kind: Outcome['kind']): number {
  return results.filter(({ outcome }) => outcome.kind === kind).length;
}

/** The form that CI systems read: what is not shown counts as skipped. */
export function junitReport(results: readonly Result[]): string {
  const cases = results.map(
    ({ id, title, outcome, seconds }) =>
      `  <testcase classname="posthaste.accept" name="${escaped(`${id}: ${title}`)}" time="${seconds.toFixed(3)}">${junitOutcome(outcome)}</testcase>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="posthaste accept" tests="${results.length}" failures="${count(results, 'failed')}" skipped="${count(results, 'notShown')}">`,
    ...cases,
    '</testsuite>',
    '',
  ].join('\n');
}

function junitOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'passed':
      return `<system-out>${escaped(outcome.detail)}</system-out>`;
    case 'failed':
      return `<failure message="${escaped(outcome.detail)}">${escaped(outcome.advice)}</failure>`;
    case 'notShown':
      return `<skipped message="${escaped(outcome.reason)}"/>`;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes markup, and replaces what XML 1.0 cannot hold. */
function escaped(text: string): string {
  return printable(text)
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
