const STILL_AFTER_MS = 10_000;

/** @param {number} ms */
export const inSeconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/**
 * Shows that a step is under way, that it still is every ten seconds, and how long it took.
 * Steps may run side by side, so each line stands for itself.
 *
 * @template T
 * @param {string} label what is being done, as "Installing …"
 * @param {() => Promise<T>} work
 * @returns {Promise<T>} what the work came to
 */
export const step = async (label, work) => {
  const startedAt = Date.now();
  console.log(`  … ${label}`);
  const heartbeat = setInterval(() => {
    console.log(`  … ${label}: still at it, ${inSeconds(Date.now() - startedAt)}`);
  }, STILL_AFTER_MS);
  try {
    const result = await work();
    console.log(`  ✓ ${label} (${inSeconds(Date.now() - startedAt)})`);
    return result;
  } finally {
    clearInterval(heartbeat);
  }
};
