import { defineConfig } from 'vitest/config';

/** The unit tests that see the core: the others take longer and see little more of it. */
const include = ['test/unit/{domain,deliver,dispatch,steps,operate,reconcile}/**/*.test.ts'];

export default defineConfig({ test: { include, isolate: false, testTimeout: 20_000 } });
