/** The oldest Node that can install the packages; afterwards the Node 24 among them runs everything. */
const OLDEST = '20';

/**
 * The message for a Node that is too old; undefined if it is new enough. Runs before other modules are loaded.
 *
 * @param {string} version as in `process.versions.node`
 * @param {string} oldest such as `22.15`
 */
export function nodeProblem(version, oldest = OLDEST) {
  if (version.localeCompare(oldest, 'en', { numeric: true }) >= 0) return undefined;
  return `Posthaste needs Node ${oldest} or newer; this is ${version}. Install a current version from https://nodejs.org, then try again.`;
}
