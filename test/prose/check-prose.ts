import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bannedIn, type Finding, hardSentencesIn } from './prose.ts';

const READ = ['*.md', '*.ts', '*.tsx', '*.mjs', '*.cjs', '*.py', '*.html'];

/** `npm run check:prose`: the words of the whole repository. */
async function findingsIn(path: string): Promise<readonly Finding[]> {
  const source = readFileSync(path, 'utf8');
  const hard = path.endsWith('.md') ? await hardSentencesIn(source) : [];
  return [...bannedIn(path, source), ...hard];
}

const paths = execFileSync('git', ['ls-files', ...READ, ':!test/prose', ':!test/unit/prose'], {
  encoding: 'utf8',
})
  .trim()
  .split('\n');
let found = 0;
for (const path of paths) {
  for (const { line, message } of await findingsIn(path)) {
    process.stdout.write(`${path}:${line} ${message}\n`);
    found += 1;
  }
}
process.stdout.write(`${paths.length} files read, ${found} passages to rewrite.\n`);
if (found > 0) process.exitCode = 1;
