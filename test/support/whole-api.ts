import { createApi } from '../../functions/api/app.ts';
import type { Api, ApiDependencies, SecretDependencies } from '../../functions/api/dependencies.ts';

export type WholeDependencies = ApiDependencies & SecretDependencies;

/** All routes of the API, which two functions serve in AWS. */
export const wholeApi = (dependencies: WholeDependencies): Api => createApi(dependencies, dependencies);
