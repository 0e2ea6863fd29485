import { defineConfig } from 'oxfmt';

export default defineConfig({
  printWidth: 110,
  singleQuote: true,
  sortPackageJson: false,
  // Written by other programs, or kept as an earlier version had it.
  ignorePatterns: [
    'package-lock.json',
    'package/api',
    'api-client/openapi.d.ts',
    'test/unit/adapters/readers-of-*',
  ],
});
