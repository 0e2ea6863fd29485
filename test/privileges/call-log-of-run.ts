import type { TestProject } from 'vitest/node';
import { callLogOfRun } from '../support/deployed-system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** What the functions asked of the local AWS while the deployed tests ran, in this run. */
    callLog: string;
  }
}

const setup = (project: TestProject): void => {
  project.provide('callLog', callLogOfRun);
};

export default setup;
