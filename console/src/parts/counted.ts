/** `1 retry`, `2 retries`, `1,250 retries` */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
