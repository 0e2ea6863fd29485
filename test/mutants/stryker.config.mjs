/** `npm run mutants -- PATH`: changes each line of PATH, and names the changes that no unit test sees. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutants/vitest.config.ts' },
  reporters: ['progress', 'clear-text'],
  clearTextReporter: { reportTests: false, allowColor: false },
  tempDirName: '.local/mutants',
  ignorePatterns: ['.local', 'docs', 'bench/results', 'test/deployed/*.json'],
  concurrency: 2,
};
