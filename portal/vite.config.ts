import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The function of the portal serves the page. Built by infra/portal-page.ts. */
export default defineConfig({
  root: import.meta.dirname,
  // Relative: the path before /portal/ depends on the address of the API.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../.local/portal/by-hand', import.meta.url)),
    emptyOutDir: true,
    // The Content-Security-Policy allows no inline data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2024',
    sourcemap: false,
  },
});
