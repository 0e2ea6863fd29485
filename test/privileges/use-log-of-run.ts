import type { TestProject } from 'vitest/node';
import { useLogOfRun } from '../support/deployed-system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The permissions that the functions used during the deployed tests of this run. */
    useLog: string;
  }
}

const setup = (project: TestProject): void => {
  project.provide('useLog', useLogOfRun);
};

export default setup;
