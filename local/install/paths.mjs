import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder, whatever folder the command was given in. */
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** Everything that a start leaves on disk beside `node_modules`. */
export const localFolder = join(projectRoot, '.local');

export const ministackFolder = join(localFolder, 'ministack');

/** Node 24, installed with the packages. */
export const projectNode = join(projectRoot, 'node_modules', '.bin', 'node');
