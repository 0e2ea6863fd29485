import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PythonPackages } from '../support/python-packages.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** The Python packages that check the API. */
export const apiCheckPackages: PythonPackages = {
  folder: 'api-check',
  names: 'schemathesis and python-zaqarclient',
  requirements: join(here, 'requirements.txt'),
  constraints: join(here, 'constraints.txt'),
  modules: here,
};
