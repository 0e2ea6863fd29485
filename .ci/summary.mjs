// Prints "N passed, M failed" of vitest's JSON report. The exit status is the run's own, and 1 where the report has a
// failure or no test at all.
import { existsSync, readFileSync } from 'node:fs';

const [report = '', runStatus = '1'] = process.argv.slice(2);

const { passed, failed } = counted(report);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = Number(runStatus) || (failed > 0 || passed === 0 ? 1 : 0);

/**
 * A test file that could not be loaded has no tests to count, and is a failure all the same.
 *
 * @param {string} file
 */
function counted(file) {
  if (!existsSync(file)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, 'utf8'));
  const unloaded = testResults.filter(isUnloaded).length;
  return { passed: numPassedTests, failed: numFailedTests + unloaded };
}

/** @param {{ status: string, assertionResults: { status: string }[] }} file */
function isUnloaded({ status, assertionResults }) {
  return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
}
