/** A path of the API. Each value is one segment of it, whatever it holds. */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, index) => path + encodeURIComponent(values[index - 1] ?? '') + text);
}
