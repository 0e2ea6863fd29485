import type { TestProject } from 'vitest/node';
import { callLogOfRun } from '../support/deployed-system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The calls of the functions to the local AWS during the deployed tests of this run. */
    callLog: string;
  }
}

const setup = (project: TestProject): void => {
  project.provide('callLog', callLogOfRun);
};

export default setup;
