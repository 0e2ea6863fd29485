/**
 * Packages that are CommonJS inside call `require`, which an ES module has not. The long name cannot meet one of the
 * minified bundle's own.
 */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** How a function becomes one file, in words that CDK and esbuild share: what is measured is built as what is deployed. */
export const bundling = {
  target: 'node24',
  mainFields: ['module', 'main'],
  banner: REQUIRE,
  minify: true,
  // Names of classes are names of errors in the logs.
  keepNames: true,
  sourcesContent: false,
  // Undici's own switch for builds that are to go without the parser that it tries out.
  define: { esbuildDetection: 'true' },
  // Undici's parser for processors without SIMD, which Lambda has none of.
  external: ['../llhttp/llhttp-wasm.js'],
  // Resolved by esbuild, in the folder of the project.
  alias: { '@aws-sdk/credential-provider-node': './functions/lambda-credentials.ts' },
};
