import { failureText } from '../../failure-report.ts';

/** Something made by a run. `command`: removes it by hand, if the run cannot. */
type Undo = { what: string; command: string; remove: () => Promise<unknown> };

/** What could not be removed. */
export type LeftOver = Pick<Undo, 'what' | 'command'> & { reason: string };

/** What a run has made, to be removed in the reverse order at its end, however it ends. */
export function createUndoList() {
  const made: Undo[] = [];
  return {
    /** What is on the list already is not added again. */
    add: (undo: Undo): void => {
      if (!made.some(({ what }) => what === undo.what)) made.push(undo);
    },
    /** Removes everything, also what comes after a failure. */
    removeAll: async (): Promise<{ removed: number; left: LeftOver[] }> => {
      const left: LeftOver[] = [];
      let removed = 0;
      for (let undo = made.pop(); undo !== undefined; undo = made.pop()) {
        const { what, command, remove } = undo;
        try {
          await remove();
          removed += 1;
        } catch (error) {
          left.push({ what, command, reason: failureText(error) });
        }
      }
      return { removed, left };
    },
  };
}

export type UndoList = ReturnType<typeof createUndoList>;
