import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project folder, independent of the current directory. */
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The folder for all files that a start creates, except `node_modules`. */
export const localFolder = join(projectRoot, '.local');

export const ministackFolder = join(localFolder, 'ministack');

/** Node 24, installed with the packages. */
export const projectNode = join(projectRoot, 'node_modules', '.bin', 'node');
