import { setMaxListeners } from 'node:events';

const leaving = new AbortController();
setMaxListeners(0, leaving.signal);

/** Aborted once nobody reads our output any more (`posthaste … | head`): whatever goes on printing may stop. */
export const readerLeft: AbortSignal = leaving.signal;

/** Output that cannot be written fails in a sentence; a reader that has seen enough is no failure. */
export const watchOutput = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    leaving.abort();
    if (error.code === 'EPIPE') return;
    process.exitCode = 1;
    console.error(`posthaste: the output could not be written: ${error.message}`);
  });
  process.stderr.on('error', () => {
    // There is nowhere left to say it; the exit status still tells.
    process.exitCode ??= 1;
  });
};
