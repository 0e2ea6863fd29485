const STILL_AFTER_MS = 10_000;

/** @param {number} ms */
export const inSeconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/**
 * Runs a step and prints its start, its progress every ten seconds, and its duration. Steps may run in parallel, so
 * every line contains the label.
 *
 * @template T
 * @param {string} label such as "Installing …"
 * @param {() => Promise<T>} work
 * @returns {Promise<T>} the result of the work
 */
export const step = async (label, work) => {
  const startedAt = Date.now();
  console.log(`  … ${label}`);
  const heartbeat = setInterval(() => {
    console.log(`  … ${label}: in progress for ${inSeconds(Date.now() - startedAt)}`);
  }, STILL_AFTER_MS);
  try {
    const result = await work();
    console.log(`  ✓ ${label} (${inSeconds(Date.now() - startedAt)})`);
    return result;
  } finally {
    clearInterval(heartbeat);
  }
};
