import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/contract/in-memory*.test.ts'],
          // One copy of the modules for all files of a worker: to load them takes longer than most tests do.
          isolate: false,
          maxWorkers: 2,
          // Some of these measure time, as the deployed ones do: nothing heavy runs beside either.
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // What measures for us: `npm run bench:check` runs these, `npm test` does not.
          name: 'bench',
          include: ['test/bench/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 120_000,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          sequence: { groupOrder: 2 },
          // One copy of aws-cdk-lib for all files: loading it takes longer than synthesising.
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'deployed',
          include: [
            'test/contract/**/*.test.ts',
            'test/e2e/**/*.test.ts',
            'test/deployed/**/*.test.ts',
            'test/browser/deployed/**/*.test.ts',
          ],
          exclude: ['test/contract/in-memory*.test.ts'],
          globalSetup: ['test/support/deployed-system.ts'],
          // One local AWS on a few cores: a fan-out in one file would make the retries of another late.
          fileParallelism: false,
          sequence: { groupOrder: 3 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'privileges',
          include: ['test/privileges/**/*.test.ts'],
          globalSetup: ['test/privileges/call-log-of-run.ts'],
          // It looks at what the deployed tests did, all of them.
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          // The console in a browser, on a stubbed API. On the deployed system it is tested among the deployed ones.
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          exclude: ['test/browser/deployed/**'],
          // A browser of several processes each.
          fileParallelism: false,
          sequence: { groupOrder: 5 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
