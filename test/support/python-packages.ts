import { delimiter, join } from 'node:path';
import { localFolder } from '../../local/install/paths.mjs';
import { pipInstall, type PipPackages } from '../../local/install/pip.mjs';
import { plainEnvironment } from '../../local/local-aws.ts';

/** PyPI packages that a test needs; `modules` is a folder of the project's modules that import them. */
export type PythonPackages = PipPackages & { modules?: string };

export type Python = { executable: string; env: NodeJS.ProcessEnv };

/**
 * A Python with the packages, which are installed under `.local/` if they are missing or have changed.
 * @throws Problem that says what to do
 */
export const pythonWithPackages = async (
  { modules, ...packages }: PythonPackages,
  signal: AbortSignal,
): Promise<Python> => {
  const { executable } = await pipInstall(packages, signal);
  const folder = join(localFolder, packages.folder);
  const path = modules === undefined ? folder : `${folder}${delimiter}${modules}`;
  return { executable, env: { ...plainEnvironment(), PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' } };
};
