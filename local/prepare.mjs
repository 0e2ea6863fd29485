// Installs missing packages: `prepare.mjs check` all npm packages, `prepare.mjs test` also the local AWS.
import { nodeProblem } from './install/node-version.mjs';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) process.exitCode = await prepare(process.argv[2]);
else {
  console.error(problem);
  process.exitCode = 1;
}

/** @param {string | undefined} purpose */
async function prepare(purpose) {
  if (purpose !== 'check' && purpose !== 'test') {
    console.error('Usage: node local/prepare.mjs check|test');
    return 2;
  }
  const { install } = await import('./install/install.mjs');
  const { Problem } = await import('./install/problem.mjs');
  try {
    await install(purpose, new AbortController().signal);
    return 0;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    return 1;
  }
}
