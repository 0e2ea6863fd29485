/** `1 retry`, `2 retries`, `1,250 retries` */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
