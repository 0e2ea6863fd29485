// Runs on the machine's Node: plain JavaScript without packages, and the version is checked before other modules load.
import { nodeProblem } from './install/node-version.mjs';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const { launch } = await import('./launch.mjs');
  process.exitCode = await launch(process.argv.slice(2));
} else {
  console.error(problem);
  process.exitCode = 1;
}
