// Runs on whatever Node the machine has: plain JavaScript, no packages, and the version is looked at before anything else loads.
import { nodeProblem } from './install/node-version.mjs';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const { launch } = await import('./launch.mjs');
  process.exitCode = await launch(process.argv.slice(2));
} else {
  console.error(problem);
  process.exitCode = 1;
}
