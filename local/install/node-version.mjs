/** The oldest Node that installs the packages; everything after that runs on the Node 24 among them. */
const OLDEST = 20;

/**
 * Undefined for a Node that is new enough, else what to tell the user. Runs before anything else is loaded.
 *
 * @param {string} version as in `process.versions.node`
 */
export function nodeProblem(version) {
  if (Number.parseInt(version, 10) >= OLDEST) return undefined;
  return `Posthaste needs Node ${OLDEST} or newer; this is ${version}. Install a current one from https://nodejs.org, then try again.`;
}
