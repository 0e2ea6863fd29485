import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts', 'test/contract/in-memory*.test.ts'] } },
      { test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'], testTimeout: 120_000 } },
      {
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          // One copy of aws-cdk-lib for all files: loading it takes longer than synthesising.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'deployed',
          include: ['test/contract/**/*.test.ts', 'test/e2e/**/*.test.ts'],
          exclude: ['test/contract/in-memory*.test.ts'],
          globalSetup: ['test/support/deployed-system.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
