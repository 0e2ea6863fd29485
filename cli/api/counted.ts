/** `1 retry`, `2 retries`, `1,250 retries`. For the command and the console. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
