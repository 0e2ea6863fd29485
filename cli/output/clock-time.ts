/** A time of the API in the local zone, to the second; what is no time is left out. */
export function clockTime(time: string | undefined): string {
  const at = time === undefined ? NaN : Date.parse(time);
  if (Number.isNaN(at)) return '';
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}
