// Installs what is missing, and nothing else: `prepare.mjs` the npm packages, `prepare.mjs test` the local AWS as well.
import { oldestNode, tooOldNode } from './install/oldest-node.mjs';

if (tooOldNode(process.versions.node)) {
  console.error(
    `Posthaste needs Node ${oldestNode} or newer; this is ${process.versions.node}. Install a current one from https://nodejs.org.`,
  );
  process.exitCode = 1;
} else {
  const { prepareFor } = await import('./install/prepare-for.mjs');
  process.exitCode = await prepareFor(process.argv[2]);
}
