import { programFile } from './install/paths.mjs';
import { Problem } from './install/problem.mjs';
import { freshLog, startGroup, tailOf } from './install/process-group.mjs';
import { plainEnvironment } from './local-aws.ts';

/** Runs the work beside `posthaste worker --local`, which does what the functions would. @throws Problem if it ends early */
export async function withLocalWorker(work: () => Promise<number>): Promise<number> {
  const log = freshLog('worker.log');
  const args = [programFile('cli/posthaste.mjs'), 'worker', '--local', '--ceiling', '1'];
  const env = plainEnvironment();
  const worker = await startGroup(process.execPath, args, { env, cwd: process.cwd(), log });
  const early = worker.ended.then(() => {
    throw new Problem(`The worker ended. The end of its output (full log: ${log}):\n${tailOf(log)}`);
  });
  console.log(`A worker does the work of the functions. Its log: ${log}`);
  try {
    return await Promise.race([work(), early]);
  } finally {
    early.catch(() => undefined);
    await worker.stop();
  }
}
