// Runs on whatever Node the machine has: plain JavaScript, no packages, and the version is looked at before anything else loads.
import { oldestNode, tooOldNode } from './install/oldest-node.mjs';

if (tooOldNode(process.versions.node)) {
  console.error(
    `Posthaste needs Node ${oldestNode} or newer to start; this is ${process.versions.node}. Install a current one from https://nodejs.org, then run npm start again.`,
  );
  process.exitCode = 1;
} else {
  const { launch } = await import('./launch.mjs');
  process.exitCode = await launch(process.argv.slice(2));
}
