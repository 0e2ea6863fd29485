/** The oldest Node that installs the packages; everything after that runs on the Node among them. */
export const oldestNode = 20;

/** @param {string} version as in `process.versions.node` */
export const tooOldNode = (version) => Number.parseInt(version, 10) < oldestNode;
