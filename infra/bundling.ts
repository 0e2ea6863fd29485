import type { BuildOptions } from 'esbuild';

/**
 * Packages that are CommonJS inside call `require`, which an ES module has not. The long name cannot meet one of the
 * minified bundle's own.
 */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** How a function becomes a bundle: what is measured is built as what is deployed. */
export const bundling = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  mainFields: ['module', 'main'],
  banner: { js: REQUIRE },
  // Names of functions and classes go as well: esbuild keeps them by a call at every closure that is made, a tenth of the
  // processor time of a delivery. Errors name themselves, which lint sees to, and a fault's stack has lines of the sources.
  minify: true,
  // Beside the bundle. Node does not read it, which every start would wait for: what is logged of a fault looks its lines up
  // (error-line). What nobody catches, such as a crash while the module loads, has lines of the bundle in Lambda's own line.
  sourcemap: true,
  sourcesContent: false,
  // What is imported by a call goes into files of its own, so that a start does not load it.
  splitting: true,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'part-[hash]',
  // Undici's own switch for builds that are to go without the parser that it tries out.
  define: { esbuildDetection: 'true' },
  // Undici's parser for processors without SIMD, which Lambda has none of.
  external: ['../llhttp/llhttp-wasm.js'],
  // Resolved by esbuild, in the folder of the project.
  alias: { '@aws-sdk/credential-provider-node': './shared/adapters/lambda/credentials.ts' },
} satisfies BuildOptions;
