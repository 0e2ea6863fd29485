import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The page is served by the command, which builds it where it is missing or older than its sources. */
export default defineConfig({
  root: import.meta.dirname,
  // Served from the root of a port of its own.
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    // The command gives a folder of its own for each state of the sources.
    outDir: fileURLToPath(new URL('../.local/console/by-hand', import.meta.url)),
    emptyOutDir: true,
    // The Content-Security-Policy of the server allows no inline data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2024',
    sourcemap: false,
  },
});
