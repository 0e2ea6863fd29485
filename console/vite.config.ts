import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The command serves the page, and builds it when it is missing or older than the sources. */
export default defineConfig({
  root: import.meta.dirname,
  // The command serves it from the root of a separate port.
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    // The command passes a different folder for each state of the sources.
    outDir: fileURLToPath(new URL('../.local/console/by-hand', import.meta.url)),
    emptyOutDir: true,
    // The Content-Security-Policy of the server allows no inline data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2024',
    sourcemap: false,
  },
});
